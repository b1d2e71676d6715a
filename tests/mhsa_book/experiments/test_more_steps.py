"""Five models of one layer, each after two numbers of steps."""

from mhsa_book.experiments import fixed_distances, more_steps
from mhsa_book.experiments.induction import EIGHT
from mhsa_book.results import measured, run_files


def test_every_seed_is_there_after_both_numbers_of_steps():
    for steps in (more_steps.SHORTER, more_steps.LONGER):
        found = more_steps.models_at(steps)
        assert [model["steps"] for model in found] == [steps] * 5


def test_no_model_is_taken_for_another_seed():
    """The scores are those of the stored curves of the arm, seed by seed."""
    curves = run_files.kept("induction").arms[EIGHT].curves
    for steps in (more_steps.SHORTER, more_steps.LONGER):
        for seed, model in enumerate(more_steps.models_at(steps)):
            at = curves[seed].steps.index(steps)
            assert abs(curves[seed].values[at] - model["score"]) < 0.005


def test_what_was_trained_before_is_taken_from_there():
    before = fixed_distances.models_of(measured.kept("fixed_distances").found, EIGHT)
    assert more_steps.models_at(more_steps.LONGER)[0] == before[0]
    assert more_steps.models_at(more_steps.SHORTER)[1:] == before[1:]


def test_a_model_has_as_many_steps_as_were_asked_for(monkeypatch):
    monkeypatch.setattr(fixed_distances, "N_SEQUENCES", 4)
    assert more_steps.measured((0, 2))["steps"] == 2
