"""What is stored of the exhibits is what the study measures."""

import json
import math

import pytest
import torch

from mhsa_book import museum
from mhsa_book.museum import study
from mhsa_book.museum.measured import FILE, effect
from mhsa_book.museum.parts import RIGHT, Setting
from mhsa_book.museum.task import PAD, Reader, texts

STORED = json.loads(FILE.read_text(encoding="utf-8"))


def test_every_exhibit_is_measured_with_three_seeds_in_forty_minutes():
    assert {*STORED["exhibits"]} == {each.name for each in museum.exhibits()}
    assert all(len(rows) == 3 for rows in STORED["exhibits"].values())
    assert STORED["minutes"] <= 40
    assert FILE.stat().st_size < 300_000


def test_a_text_goes_on_as_it_announced():
    found = texts(torch.Generator().manual_seed(3), batch=200)
    for ids, known in zip(found.ids, found.known, strict=True):
        text = ids[ids != PAD].tolist()
        period = {1: 3, 2: 5}[text[0]]
        letters = text[1:]
        assert letters[period:] == letters[:-period]
        assert known.sum().item() == len(letters) - period
        assert min(letters) >= 3


def test_a_reader_that_knows_nothing_guesses():
    reader = Reader(RIGHT, Setting(), torch.Generator().manual_seed(0)).eval()
    assert study.read(reader) < 0.3
    assert study.written(reader) < 0.4


def close(found, stored):
    """Floats of another machine: to four digits or a share of a hundredth."""
    return (stored is None and found is None) or math.isclose(found, stored, abs_tol=0.01)


@pytest.mark.nohook  # the hook doubles the time of a training
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("causal_from_the_top_left", marks=pytest.mark.slow),
        "labels_not_shifted",
        pytest.param("W_O_forgotten", marks=pytest.mark.slow),
    ],
)
def test_one_seed_again_gives_what_is_stored(name):
    exhibit = museum.exhibit(name)
    torch.set_num_threads(1)
    reader, right = study.baseline(exhibit.setting, seed=0)
    again = study.as_record(study.learned(exhibit.all_parts, exhibit.setting, 0, reader))
    stored = STORED["exhibits"][name][0]
    assert all(map(close, again["losses"], stored["losses"]))
    for share in ("read", "written", "borrowed"):
        assert close(again[share], stored[share])
    assert close(right.losses[-1], effect(exhibit).right[0].losses[-1])
