"""What was planned to be compared, answered from what was stored."""

from collections.abc import Sequence
from dataclasses import replace
from textwrap import fill

from mhsa_book.experiments.design import Experiment, Question
from mhsa_book.results.claims import Claim, corrected
from mhsa_book.results.runs import Runs
from mhsa_book.results.sentences import chance, probability, sentence
from mhsa_book.results.sign_flips import least_p


def answers(experiment: Experiment, runs: Runs) -> dict[Question, Claim | str]:
    """Every planned question with its claim, or with why there is none.

    A final value is compared where every curve of both arms has settled; the floor is left out
    where its curves have not. Holm's correction counts all questions, also those that have no
    answer.
    """
    found: dict[Question, Claim | str] = {q: _answer(q, runs) for q in experiment.questions}
    claims = {q: claim for q, claim in found.items() if isinstance(claim, Claim)}
    right = corrected(*claims.values(), unanswered=len(found) - len(claims))
    return found | dict(zip(claims, right, strict=True))


def report(experiment: Experiment, runs: Runs, width: int = 88) -> str:
    """The answers in sentences, a paragraph each; no number in them is typed.

    What all share comes last: what chance alone does, and how p is corrected.
    """
    found, n = answers(experiment, runs), len(runs.seeds)
    claims = [answer for answer in found.values() if isinstance(answer, Claim)]
    floors = {c.floor.measure.name: c.floor for c in claims if c.floor is not None}
    said = [sentence(_alone(a)) if isinstance(a, Claim) else a for a in found.values()]
    said += [chance(floor) for floor in floors.values()]
    said.append(
        f"Corrected: by Holm's method, for {len(found)} planned comparisons. {n} seeds give no "
        f"{probability(least_p(n)).replace('=', 'below')}."
    )
    return "\n\n".join(fill(text, width) for text in said)


def _alone(claim: Claim) -> Claim:
    """Without the floor, where the verdict does not need it."""
    alone = replace(claim, floor=None)
    return alone if alone.verdict == claim.verdict else claim


def expected(experiment: Experiment | Runs, width: int = 88) -> str:
    """The predictions as they were written down before the runs, numbered."""
    return numbered(experiment.predictions, width)


def numbered(sentences: Sequence[str], width: int = 88) -> str:
    """Sentences one below the other, each with its number.

    >>> print(numbered(["It does.", "It does not."]))
    1. It does.
    2. It does not.
    """
    return "\n".join(
        fill(text, width, initial_indent=f"{i}. ", subsequent_indent="   ")
        for i, text in enumerate(sentences, start=1)
    )


def _answer(question: Question, runs: Runs) -> Claim | str:
    pair, floor = (question.first, question.second), runs.floor
    if question.about == "steps":
        return Claim(runs.steps(*pair), question.margin, runs.steps(*floor))
    if moving := _moving(pair, runs):
        return (
            f"{pair[0]} and {pair[1]} are not compared in their final {runs.measure.name}, "
            f"because not all of the {len(runs.seeds)} curves have settled ({moving})."
        )
    at_rest = None if _moving(floor, runs) else runs.final(*floor)
    return Claim(runs.final(*pair), question.margin, at_rest)


def _moving(pair: tuple[str, str], runs: Runs) -> str:
    found = {name: len(runs.unsettled(name)) for name in pair}
    return "; ".join(f"{name}: {n} have not" for name, n in found.items() if n)
