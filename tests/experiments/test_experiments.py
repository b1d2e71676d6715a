"""An experiment that keeps numbers and no curves: seed 0 gives its numbers again."""

from importlib import import_module
from statistics import stdev

import pytest

from mhsa_lib.results.experiments import FOLDER, Results, kept

NAMES = ["composed", "grouped", "mixture"]
each = pytest.mark.parametrize("name", NAMES)


def experiment(name):
    return import_module(f"mhsa_lib.experiments.{name}")


def test_every_kept_result_has_its_experiment():
    assert {file.stem for file in FOLDER.glob("*.json")} == set(NAMES)


@each
def test_the_kept_results_are_of_these_models(name):
    results, models = kept(name), experiment(name).models()
    assert (results.name, results.question) == (name, experiment(name).QUESTION)
    assert len(results.seeds) >= 5
    assert results.seeds[0] == 0
    sizes = {
        model: sum(p.numel() for p in build().parameters()) for model, build in models.items()
    }
    assert results.parameters == sizes


@each
def test_the_models_have_equal_parameters_within_two_percent(name):
    sizes = kept(name).parameters.values()
    assert max(sizes) <= 1.02 * min(sizes)


QUICK = {"mixture, 4 of 8 heads"}
"""What is trained again with every test, seconds each; the other models with `make slow`."""
MODELS = [
    pytest.param(name, model, marks=[pytest.mark.slow] * (model not in QUICK))
    for name in NAMES
    for model in kept(name).values
]


@pytest.mark.nohook  # training takes thrice as long with every shape checked
@pytest.mark.parametrize(("name", "model"), MODELS)
def test_seed_0_gives_the_kept_number_again(name, model):
    """Another processor adds in another order, so training drifts: two spreads are allowed."""
    numbers = kept(name).values[model]
    again = experiment(name).run(model, 0)
    assert abs(again - numbers[0]) <= max(0.02, 2 * stdev(numbers))


def test_unknown_results_are_refused_by_name():
    with pytest.raises(ValueError, match=r"no results are kept for 'none'"):
        kept("none")
    assert isinstance(kept(NAMES[0]), Results)
