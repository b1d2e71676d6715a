"""Every checker knows an empty answer, a right one and a wrong one, and raises at none."""

import pkgutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from importlib import import_module

import pytest
import torch

from mhsa_book import exercises
from mhsa_book.exercises import check
from mhsa_book.exercises.check import exercise, modules
from mhsa_book.exercises.kinds import Function, OpenAnswer, Value

EXERCISES = {name: exercise(name) for name in modules()}
ANYTHING = [None, 0, -1.5, "words", [], [1, 2], {1}, torch.zeros(0), torch.ones(2, 3), print]
FUNCTIONS = [name for name, each in EXERCISES.items() if isinstance(each, Function)]
VALUES = [name for name, each in EXERCISES.items() if isinstance(each, Value)]


@pytest.fixture
def found_once(name, monkeypatch):
    """What is right is found once for all answers of a test: a model takes seconds for it."""
    one = EXERCISES[name]
    if isinstance(one, Value):
        held = import_module(f"mhsa_book.exercises.{modules()[name]}").EXERCISES
        monkeypatch.setitem(held, name, replace(one, right=cache(one.right)))


def dots(*args, **kwargs): ...


def test_every_exercise_of_every_module_is_found():
    found = {
        name: module.name
        for module in pkgutil.iter_modules(exercises.__path__)
        for name in getattr(
            import_module(f"mhsa_book.exercises.{module.name}"), "EXERCISES", {}
        )
    }
    assert found == modules()


def test_one_answer_is_judged_without_importing_the_other_exercises():
    code = """
import sys
from mhsa_book.exercises import check
from mhsa_book.exercises.check import modules

check("key_of_wide"), check("place_in_memory", 0)
loaded = {name.rpartition(".")[2] for name in sys.modules if "mhsa_book.exercises" in name}
print(*(loaded & {*modules().values()}))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.stdout.split(), ran.stderr) == (["split"], "")


@pytest.mark.parametrize("name", EXERCISES)
def test_dots_are_unfilled(name):
    assert check(name).state == check(name, ...).state == "unfilled"
    assert name in repr(check(name))
    assert check(name, ([1.0, ...], [..., 2.0])).state == "unfilled"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_dots_is_unfilled(name):
    assert check(name, dots).state == "unfilled"
    assert check(name, lambda *args, **kwargs: ...).state == "unfilled"


@pytest.mark.nohook  # many calls, which take several times as long under the hook
@pytest.mark.parametrize("name", EXERCISES)
@pytest.mark.usefixtures("found_once")
def test_nothing_raises_and_few_things_are_right(name):
    verdicts = [check(name, answer) for answer in ANYTHING]
    assert {verdict.state for verdict in verdicts} <= {"right", "wrong", "unfilled"}
    if not isinstance(EXERCISES[name], OpenAnswer):
        assert sum(map(bool, verdicts)) <= 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_reference_is_right(name):
    assert check(name, EXERCISES[name].reference)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.usefixtures("found_once")
def test_the_value_is_right_and_expected_mistakes_are_answered(name):
    exercise = EXERCISES[name]
    assert check(name, exercise.right())
    for value, why in exercise.wrong.items():
        assert check(name, value).text == f"Not yet. {why}"


def test_a_name_that_is_no_exercise_is_said():
    assert "There is no exercise 'slpit_heads'; there are " in repr(check("slpit_heads"))


def test_what_the_answer_raises_is_shown_with_its_input():
    said = repr(check("score", lambda q, k, scale: q[5]))
    assert "It raises IndexError" in said
    assert "k = tensor(" in said


def test_the_smallest_input_is_shown_with_both_answers():
    said = repr(check("concat_heads", lambda z: z.flatten(1, 2)))
    assert "The shape is (1, 4, 2), not (1, 2, 4)." in said
    assert "right: tensor([[[1., 2., 5., 6.]," in said


def test_a_softmax_that_overflows_or_forgets_the_mask_is_found():
    def overflows(scores, mask):
        weights = scores.exp() if mask is None else scores.exp() * mask
        return (weights / weights.sum(dim=-1, keepdim=True)).nan_to_num()

    assert "1000" in repr(check("softmax", overflows))
    assert not check("softmax", lambda scores, mask: torch.softmax(scores, dim=-1))


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("split_heads", lambda x, n_heads: torch.stack(x.chunk(n_heads, dim=-1), dim=1)),
        ("split_heads", lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(1, 2)),
        ("concat_heads", lambda z: torch.cat(z.unbind(dim=1), dim=-1)),
        ("key_of_wide", torch.tensor([-4, 0, 0, 0])),
        ("score", lambda q, k, scale: torch.einsum("bhqd,bhkd->bhqk", q, k) * scale),
        (
            "causal_mask",
            lambda n_query, n_key: torch.ones(n_query, n_key).tril(n_key - n_query) > 0,
        ),
        (
            "padding_mask",
            lambda lengths, n_key: (torch.arange(n_key) < torch.tensor(lengths)[:, None])[
                :, None, None
            ],
        ),
    ],
)
def test_other_ways_to_write_it_are_right(name, right):
    assert check(name, right)
