"""Answers by somebody who had not seen the checks: none is accepted, most are named."""

import re
import signal
import sys
import threading
import time

import numpy as np
import pytest
import torch

from mhsa_book.exercises import calling, check
from mhsa_book.exercises.verdict import Verdict
from tests.mhsa_book.exercises import unforeseen
from tests.mhsa_book.exercises.unforeseen import HOSTILE, RIGHT, WRONG

pytestmark = pytest.mark.nohook  # thousands of calls, which take twice as long under the hook

DIFFERENCE = (
    r"The numbers differ\.|The shape is|The dtype is|It is a \w+, not|It is another"
    r"|It should be \d values|Value \d: |It raises|It cannot be judged"
)
"""How a verdict begins that only shows a difference; the name of a mistake stands before it."""

IN_NUMPY = ("concat_heads", "NumPy array")
"""Its numbers are right, and right numbers are accepted from NumPy: it hears a remark."""

CASES = {
    name: {said: answer for said, answer in each.items() if (name, said) != IN_NUMPY}
    for name, each in WRONG.items()
}
HOSTILES = [
    pytest.param(name, answer, id=f"{name}: {said}")
    for name, each in HOSTILE.items()
    for said, answer in each.items()
    if not said.startswith("HANGS inside C")  # nothing in the same process can stop it
]


def named(verdict):
    return not re.match(f"Not yet. ({DIFFERENCE})", verdict.text)


@pytest.fixture(autouse=True)
def soon_over(monkeypatch):
    monkeypatch.setattr(calling, "LIMIT_S", 0.5)


@pytest.mark.parametrize("name", CASES)
def test_no_wrong_answer_is_accepted_and_most_are_named(name, capsys):
    verdicts = {said: check(name, answer) for said, answer in CASES[name].items()}
    assert len(verdicts) >= 10
    accepted = [said for said, verdict in verdicts.items() if verdict.state != "wrong"]
    unnamed = [said for said, verdict in verdicts.items() if not named(verdict)]
    share = 1 - len(unnamed) / len(verdicts)
    with capsys.disabled():
        print(f"\n{name:22} {len(verdicts)} wrong, {share:.0%} named; not named: {unnamed}")
    assert accepted == []
    assert share >= 0.8


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_accepted_by_every_name_and_from_numpy(name):
    right = RIGHT[name]

    def renamed(*given):
        return right(*given)

    def from_numpy(*given):
        found = right(*given)
        several = isinstance(found, tuple)
        arrays = [each.numpy() for each in (found if several else [found])]
        return tuple(arrays) if several else arrays[0]

    for answer in (right, renamed, from_numpy):
        assert check(name, answer), check(name, answer).text


def test_right_numbers_from_numpy_hear_that_no_gradient_passes():
    verdict = check(IN_NUMPY[0], WRONG[IN_NUMPY[0]][IN_NUMPY[1]])
    assert verdict
    assert "no gradient" in verdict.text


def test_an_answer_may_have_other_names_but_not_another_number_of_arguments():
    assert check("score", lambda queries, keys, factor: queries @ keys.mT * factor)
    assert check("score", lambda k, q, scale: q @ k.mT * scale)  # its own names come first
    said = check("score", lambda q, k: q @ k.mT).text
    assert "it takes (q, k), and is called with (q, k, scale)" in said


@pytest.mark.parametrize(("name", "answer"), HOSTILES)
def test_a_hostile_answer_ends_in_a_sentence(name, answer):
    verdict = check(name, answer)
    assert isinstance(verdict, Verdict)
    assert repr(verdict)


@pytest.mark.parametrize("name", ["split_heads", "kv_cache_step"])
def test_a_loop_without_end_is_stopped(name):
    def hangs(*given):
        while True:
            pass

    for judge in (check, in_thread):
        started = time.monotonic()
        verdict = judge(name, hangs)
        assert verdict.text.startswith("Not yet. It does not end")
        assert time.monotonic() - started < 5


def in_thread(name, answer):
    """The verdict from outside of the main thread, where no alarm rings.

    The loop goes on there, so it is told to end.
    """
    ended, came = [], []

    def loops(*given):
        while not ended:
            time.sleep(0.01)

    thread = threading.Thread(target=lambda: came.append(check(name, loops)))
    thread.start()
    thread.join()
    ended.append(True)
    return came[0]


def test_an_alarm_of_somebody_else_rings_after_a_check():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(True))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        check("score", RIGHT["score"])
        time.sleep(0.4)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rung == [True]


def test_what_an_answer_changes_globally_is_put_back():
    def meddles(z):
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.manual_seed(5)
        np.random.seed(5)
        torch.set_num_threads(1 + torch.get_num_threads())
        sys.setrecursionlimit(500 + sys.getrecursionlimit())
        return z

    def state():
        drawn = torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()
        settings = torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_num_threads()
        return *drawn, *settings, sys.getrecursionlimit()

    before = state()
    assert not check("concat_heads", meddles)
    assert state() == before


@pytest.mark.parametrize(
    ("name", "label", "said"),
    [
        ("split_heads", "(damages x: unsqueeze_)", "It changes x"),
        ("kv_cache_step", "(damages k, v: the given caches grow in place)", "changes k and v"),
        ("padding_mask", "(damages lengths: emptied by pop)", "It changes lengths"),
        ("attend", "(no gradient: under no_grad)", "nothing can be learned through it"),
        ("split_heads", "heads in reverse order", "The heads are in reverse order"),
        ("attend", "dropout left on", "is dropout left on?"),
        ("score", "float16", "half precision"),
        ("multi_head_attention", "mask forgotten", "The mask changes nothing"),
        ("cross_attention", "context ignored: self-attention", "It uses x where context is"),
        ("causal_mask", "True means blocked", "True and False are exchanged"),
        ("softmax", "-1e4 in place of -inf, too near for large scores", "mask hides gets a"),
    ],
)
def test_a_mistake_is_told_in_words(name, label, said):
    assert said in check(name, unforeseen.WRONG[name][label]).text
