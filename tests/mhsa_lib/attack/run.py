"""Run cases for some seconds, count how they end, keep one of each kind of failure."""

import json
import time
import warnings
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import torch
from tqdm import tqdm

from tests.mhsa_lib.attack import (
    cache_cases,
    convert_cases,
    fused_cases,
    trace_cases,
    variants_cases,
)
from tests.mhsa_lib.attack.outcome import Outcome, judged

TARGETS = {
    "fused": fused_cases.case,
    "variants": variants_cases.case,
    "caches": cache_cases.case,
    "trace": trace_cases.case,
    "convert": convert_cases.case,
}


def one(kind: str, number: int) -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return judged(kind, number, TARGETS[kind])


class Tally:
    """How cases ended; of findings and refusals of one kind, the first is kept."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.first: dict[str, Outcome] = {}

    def add(self, outcome: Outcome) -> bool:
        """Whether it is a finding of a new kind."""
        self.counts[outcome.status] += 1
        if outcome.status == "ok":
            return False
        self.kinds[outcome.key] += 1
        new = outcome.key not in self.first
        self.first.setdefault(outcome.key, outcome)
        return new and outcome.status == "FINDING"

    def write(self, path: Path) -> None:
        rows = [
            {"count": self.kinds[key], **vars(self.first[key])}
            for key, _ in self.kinds.most_common()
        ]
        text = json.dumps({"counts": self.counts, "kinds": rows}, indent=1)
        path.write_text(text, encoding="utf-8")


def attack(
    seconds: float, seed: int, only: list[str], *, quiet: bool = False, most: int | None = None
) -> Tally:
    """Targets in turn, as long as there is time, or ``most`` cases of each."""
    torch.set_num_threads(1)
    random, tally = Random(seed), Tally()
    end = time.monotonic() + seconds
    with tqdm(total=round(seconds), unit="s", disable=quiet) as bar:
        done = 0
        while time.monotonic() < end and (most is None or done < most):
            for kind in only:
                outcome = one(kind, random.randrange(10**9))
                if tally.add(outcome) and not quiet:
                    bar.write(f"{outcome.key[:100]}  --case {outcome.case}")
            done += 1
            bar.n = round(seconds - max(0, end - time.monotonic()))
            bar.set_postfix(dict(tally.counts), refresh=False)
            bar.update(0)
    return tally


def several(seconds: float, seed: int, only: list[str], workers: int) -> list[Tally]:
    """The same in processes of their own, each with its own seed."""
    import multiprocessing

    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        jobs: list[Any] = [
            pool.apply_async(attack, (seconds, seed + i, only), {"quiet": True})
            for i in range(workers)
        ]
        return [job.get() for job in jobs]
