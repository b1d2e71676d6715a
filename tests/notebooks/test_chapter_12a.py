"""What chapter 12a says without a cell that shows it."""

import json
from pathlib import Path

import pytest
import torch

from mhsa_book import models, roles
from mhsa_book.examples import annotated, language
from mhsa_book.experiments import translation
from mhsa_book.models.translator import translator

SECOND = "two words make nearly all of L0H2's number, and on other sentences it is L1H3"
LENGTH = (
    "its correlation with the effect is positive in every layer and in each of the three ways"
)


CHAPTER = Path(__file__).parents[2] / "notebooks" / "12a_weight_and_effect.ipynb"


@pytest.fixture(scope="module")
def prose() -> str:
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    return "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def sense(n: int, seed: int) -> dict[str, torch.Tensor]:
    """What the words of the task cost more without each head of the encoder, in nats."""
    model, pairs = translator(), language.pairs(n, seed=seed)
    where, whole, found = translation.asked(pairs, "sense"), translation.nats(model, pairs), {}
    for head in translation.heads_of(model)[:8]:
        with translation.without(model, [head]):
            found[str(head).split()[-1]] = (translation.nats(model, pairs) - whole)[where]
    return found


def ranked(found: dict[str, torch.Tensor]) -> list[str]:
    return sorted(found, key=lambda head: found[head].mean().item(), reverse=True)


def test_the_second_place_for_the_sense_rests_on_two_words(prose):
    assert SECOND in prose
    here, elsewhere = sense(400, seed=11), sense(2000, seed=12)
    assert ranked(here)[:2] == ["L0H0", "L0H2"]
    words = here["L0H2"].sort(descending=True).values
    assert words[:2].sum() > 0.95 * words.sum()
    assert ranked(elsewhere)[:2] == ["L0H0", "L1H3"]


@torch.no_grad()
def test_heads_of_a_long_z_have_the_larger_effect_in_every_layer(prose):
    assert LENGTH in prose
    model, sentences = models.load(), annotated.sentences()
    layers = [model.layer(i) for i in range(6)]
    inputs = [model.vectors(sentences[i].text)[1][0] for i in range(0, 100, 9)]
    z = [roles.effect.outputs(layers, x) for x in inputs]
    length = torch.stack([each.norm(dim=-1).mean(dim=-1) for each in z]).mean(dim=0)
    for moved in roles.effects(layers, inputs).values():
        assert (roles.spearman(length, moved.mean(dim=0)) > 0.4).all()
