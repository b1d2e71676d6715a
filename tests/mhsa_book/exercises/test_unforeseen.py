"""Answers by somebody who had not seen the checks: none is accepted, most are named."""

import re

import pytest
import torch

from mhsa_book.exercises import check
from tests.mhsa_book.exercises import unforeseen

GENERAL = r"(The numbers differ|The shape is|The dtype is|It is a|It is another|It should be \d|Value \d|It raises|It cannot be called)"
"""How a verdict begins that only shows the difference; a named mistake stands before it."""

CASES = [(name, said) for name, each in unforeseen.WRONG.items() for said in each]


def named(verdict):
    return re.match(f"Not yet. {GENERAL}", verdict.text) is None


def judged(name):
    return {said: check(name, answer) for said, answer in unforeseen.WRONG[name].items()}


@pytest.mark.parametrize("name", unforeseen.WRONG)
def test_no_wrong_answer_is_accepted_and_most_are_named(name, capsys):
    verdicts = judged(name)
    accepted = [said for said, verdict in verdicts.items() if verdict]
    unnamed = [said for said, verdict in verdicts.items() if not verdict and not named(verdict)]
    n = len(verdicts)
    with capsys.disabled():
        print(f"\n{name:22} {n} wrong, {len(accepted)} accepted, {n - len(unnamed) - len(accepted)} named; unnamed {unnamed}, acc {accepted}")
    assert accepted == []
    assert len(unnamed) <= 0.2 * n
