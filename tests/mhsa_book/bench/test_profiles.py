"""Where the time goes: every operation is of one kind, and the kinds make up the whole."""

from time import perf_counter

import matplotlib.pyplot as plt
import pytest
import torch

from mhsa_book import plots
from mhsa_book.bench import judge, profiles
from mhsa_book.bench.clock import Entrant
from mhsa_book.bench.judge import Effort
from mhsa_book.results.cells import Cell, Goal
from mhsa_book.results.records import OURS, UNIT, Race


def test_a_large_product_takes_the_time():
    a = torch.randn(700, 700)
    found = profiles.milliseconds(Entrant(lambda: torch.softmax(a @ a, dim=-1)))
    assert tuple(found) == profiles.KINDS
    assert found["products"] > found["softmax"] > 0
    assert found["fused kernel"] == found["copies and sums"] == 0


def test_the_kinds_together_take_the_time_of_the_call():
    a, ratios = torch.randn(700, 700), []
    for _ in range(5):  # other programs may take the time of one of both
        found = profiles.milliseconds(Entrant(lambda: torch.softmax(a @ a, dim=-1)))
        start = perf_counter()
        for _ in range(5):
            torch.softmax(a @ a, dim=-1)
        ratios.append(sum(found.values()) / (1000 * (perf_counter() - start) / 5))
        if 0.3 < ratios[-1] < 3:
            return
    pytest.fail(f"the kinds take {ratios} times what the call does")


def test_what_is_no_operation_is_a_call():
    found = profiles.milliseconds(Entrant(lambda: sum(range(20_000))))
    assert found["calls"] == sum(found.values()) > 0


def test_a_decoder_is_reset_and_never_asked_for_more_than_it_has():
    done = []
    profiles.milliseconds(Entrant(lambda: done.append(1), lambda: done.clear(), most=64))
    assert len(done) <= 64


@pytest.mark.parametrize("limit", [0.0, 100.0])
def test_only_a_cell_that_was_lost_is_profiled(limit, monkeypatch):
    monkeypatch.setattr(Race, "goal", Goal(UNIT, limit))
    monkeypatch.setattr(Race, "verdict", "tie")
    race = judge.run(Cell(2, 8, 16, 2), {}, Effort(rounds=1, seconds=0.0))
    assert race.profile.keys() == ({OURS, race.best_peer} if limit == 0 else set())


def test_a_bar_is_cut_where_the_kinds_say():
    times = {"products": 2.0, "softmax": 1.0, "calls": 1.0}
    race = Race(
        Cell(2, 8, 16, 2, "causal", "training", "bfloat16"), (), 1.0, 1, 0, False, 0.03,
        profile={OURS: times, "peer": times},
    )  # fmt: skip
    plots.profiles([race, race])
    fig = plt.gcf()
    (ax,) = fig.axes
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == ["2 × 8, causal, training, bf16"] * 2
    bars = [(bar.get_x(), bar.get_width(), bar.get_hatch()) for bar in ax.patches]
    assert bars[::2] == bars[1::2] == [(0, 50, ""), (50, 25, "///"), (75, 25, "xx")]
    (legend,) = fig.legends
    assert [text.get_text() for text in legend.get_texts()] == ["products", "softmax", "calls"]
    plt.close("all")


def test_without_a_profile_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="none of the races was lost"):
        plots.profiles([])
