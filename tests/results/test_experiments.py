"""Kept results: read as they were written, summed up rightly, drawn point by point."""

import json
import math
from dataclasses import asdict
from types import SimpleNamespace

import matplotlib as mpl
import pytest
from torch import nn

from mhsa_lib import plots
from mhsa_lib.experiments.run import measured
from mhsa_lib.results.experiments import Results, kept

mpl.use("Agg")

import matplotlib.pyplot as plt

DEMO = Results(
    "demo",
    "Is b better?",
    "accuracy",
    (0, 1, 2),
    {"plain": 1_200, "b": 1_190},
    {"plain": (0.5, 0.6, 0.7), "b": (0.9, 0.9, 0.6)},
    {"seconds": 3},
)


def test_mean_and_sample_standard_deviation():
    assert DEMO.mean("plain") == pytest.approx(0.6)
    assert DEMO.spread("plain") == pytest.approx(0.1)  # divided by n - 1
    assert DEMO.spread("b") == pytest.approx(math.sqrt(0.03))


def test_one_seed_has_no_spread():
    one = Results("demo", "?", "loss", (0,), {"a": 1}, {"a": (0.5,)}, {})
    assert math.isnan(one.spread("a"))
    assert "a  0.500 ± nan" in repr(one)


def test_as_text_it_has_a_line_for_every_model():
    assert repr(DEMO).splitlines() == [
        "demo: Is b better?",
        "accuracy, mean ± standard deviation of 3 seeds",
        "plain  0.600 ± 0.100  1,200 parameters",
        "b      0.800 ± 0.173  1,190 parameters",
    ]


def test_what_was_written_is_read_again(tmp_path):
    (tmp_path / "demo.json").write_text(json.dumps(asdict(DEMO)), encoding="utf-8")
    found = kept("demo", tmp_path)
    assert found == DEMO
    assert isinstance(found.values["b"], tuple)


def test_an_unknown_name_is_refused_with_those_there_are(tmp_path):
    with pytest.raises(ValueError, match="no results are kept for 'x'; there are: none"):
        kept("x", tmp_path)
    for name in ("b", "a"):
        (tmp_path / f"{name}.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="no results are kept for 'x'; there are: a, b"):
        kept("x", tmp_path)


def test_every_model_is_run_with_every_seed():
    runs = []

    def run(model, seed):
        runs.append((model, seed))
        return {"small": 0.1, "large": 0.2}[model] + seed + 1e-9

    models = {"small": lambda: nn.Linear(2, 3), "large": lambda: nn.Linear(4, 3)}
    experiment = SimpleNamespace(
        NAME="e", QUESTION="Which?", MEASURE="loss", models=lambda: models, run=run
    )
    seen = []

    def progress(all_runs):
        seen.append(len(all_runs))
        return iter(all_runs)

    found = measured(experiment, (0, 3), progress)
    assert runs == [("small", 0), ("small", 3), ("large", 0), ("large", 3)]
    assert seen == [4]
    assert found.parameters == {"small": 9, "large": 15}
    assert found.values == {"small": (0.1, 3.1), "large": (0.2, 3.2)}
    assert (found.name, found.question, found.measure) == ("e", "Which?", "loss")
    assert found.seeds == (0, 3)


def test_every_seed_is_a_point_and_the_bar_is_one_standard_deviation():
    plt.close("all")
    plots.seeds(DEMO)
    (ax,) = plt.gcf().axes
    points = [line for line in ax.lines if line.get_linestyle() == "None"]
    found = [sorted(line.get_xdata()) for line in points if len(line.get_xdata()) == 3]
    assert found == [[0.5, 0.6, 0.7], [0.6, 0.9, 0.9]]
    bars = [segment for bar in ax.collections for segment in bar.get_segments()]
    ends = [tuple(x for x, _ in segment) for segment in bars]
    assert ends == [
        pytest.approx((0.5, 0.7)),
        pytest.approx((0.8 - 0.03**0.5, 0.8 + 0.03**0.5)),
    ]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["plain", "b"]
    said = [text.get_text() for text in ax.texts]
    assert said == ["0.600 ± 0.100", "0.800 ± 0.173"]
    plt.close("all")
