"""Which predictions came true: each as a condition on one seed, counted over all."""

from collections.abc import Callable
from math import log
from typing import NamedTuple

from mhsa_book.examples import language
from mhsa_book.experiments.translation.heads import KINDS
from mhsa_book.experiments.translation.predictions import PREDICTIONS
from mhsa_book.results.translators import Translators, total

ENCODER, DECODER, CROSS = KINDS


class Verdict(NamedTuple):
    """A prediction, the seeds in which it held, and how many it had promised."""

    prediction: str
    held: tuple[int, ...]
    promised: int

    @property
    def came_true(self) -> bool:
        """Whether it held as often as promised."""
        return len(self.held) >= self.promised


def verdicts(found: Translators) -> tuple[Verdict, ...]:
    """One for each of ``PREDICTIONS``, in the same order.

    >>> from mhsa_book.results.translators import kept
    >>> sum(verdict.came_true for verdict in verdicts(kept()))
    5
    """
    return tuple(
        Verdict(
            text,
            tuple(seed for i, seed in enumerate(found.seeds) if holds(found, i)),
            len(found.seeds) - (1 if "seven" in text else 0),
        )
        for text, holds in zip(PREDICTIONS, CONDITIONS, strict=True)
    )


def _cross_costs_most(found: Translators, i: int) -> bool:
    return all(
        found.off(CROSS, task)[i] > found.off(kind, task)[i]
        for task in language.TASKS
        for kind in (ENCODER, DECODER)
    )


def _sense_needs_the_encoder(found: Translators, i: int) -> bool:
    return found.off(ENCODER, "sense")[i] >= 0.3


def _the_encoder_is_for_sense(found: Translators, i: int) -> bool:
    others = set(language.TASKS) - {"sense"}
    return all(found.off(ENCODER, "sense")[i] > found.off(ENCODER, each)[i] for each in others)


def _the_vowel_is_guessed(found: Translators, i: int) -> bool:
    return found.off(DECODER, "agreement")[i] >= log(2)


def _the_decoder_counts(found: Translators, i: int) -> bool:
    return found.off(DECODER, "count")[i] > found.off(ENCODER, "count")[i]


def _singles_cost_less(found: Translators, i: int) -> bool:
    return all(
        total([found.off(head) for head in found.of(kind)])[i] < found.off(kind)[i]
        for kind in KINDS
    )


def _the_mean_costs_least(found: Translators, i: int) -> bool:
    return all(
        found.off(kind, way="mean")[i] < found.off(kind, way=way)[i]
        for kind in KINDS
        for way in ("zero", "resample")
    )


def _norms_miss_less(found: Translators, i: int) -> bool:
    return found.missed("norms")[i] < found.missed("weights")[i]


def _hiding_misses_least(found: Translators, i: int) -> bool:
    least = min(found.missed("norms")[i], found.missed("weights")[i])
    return found.missed("hiding a row")[i] < least


def _positions_lie_between(found: Translators, i: int) -> bool:
    return all(
        found.missed(name)[i] < found.missed("positions")[i] < found.missed_untrained(name)[i]
        for name in ("weights", "norms")
    )


CONDITIONS: tuple[Callable[[Translators, int], bool], ...] = (
    _cross_costs_most,
    _sense_needs_the_encoder,
    _the_encoder_is_for_sense,
    _the_vowel_is_guessed,
    _the_decoder_counts,
    _singles_cost_less,
    _the_mean_costs_least,
    _norms_miss_less,
    _hiding_misses_least,
    _positions_lie_between,
)
"""Of the stored numbers and the place of a seed among them, in the order of the predictions."""
