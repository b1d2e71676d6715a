"""Do the keys of later heads read what L16H0 of SmolLM2 writes, and do they read it directly?

``words_again`` gave the queries, the keys or the values of all layers above L16H0 what they
would be without this head. Its sixth prediction was that only the keys matter, and it failed:
the keys alone lost all that is lost without the head, but the queries alone and the values
alone lost more than half of it. Such a patch carries more than the note. Without L16H0 the
model hardly finds a word again, and the queries and values of the layers above read this
failure as well.

So here is a narrower patch, on texts that nobody has looked at. What L16H0 writes is its mean
over other texts, and every other head is held at what it found with L16H0 on, while MLPs and
norms are computed again. What the queries, or keys, or values would be then is put into a pass
in which every head is on: for all heads of all layers above, or only for the two groups of
three heads (each shares one KV head) to which the four induction heads belong.

The predictions were written after the numbers of ``words_again`` were seen, and before any
number of this patch was.

``python -m mhsa_book.experiments.direct_paths`` runs it and goes on where it was stopped.

Source: Wang et al., "Interpretability in the Wild", section 3.1, arXiv 2211.00593.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mhsa_book.experiments import running, units
from mhsa_book.experiments.words_again import (
    MEAN,
    OVER,
    WRITER,
    N,
    halves,
    induction_scores,
)
from mhsa_book.models import loading, words_twice
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.smollm2 import SHA256
from mhsa_book.models.switching import Head
from mhsa_book.results import bootstrap
from mhsa_book.results import measured as results
from mhsa_book.results.measured import Measured
from mhsa_lib.tracing.editing import edit
from mhsa_lib.tracing.wires import trace

TEXTS = range(400, 408)
"""Seeds of texts that no other part of the study has used."""

FOUR: tuple[Head, ...] = ((18, 6), (17, 3), (17, 4), (18, 7))
"""The induction heads that ``words_again`` chose."""

ALL, GROUPS = "all heads above", "the two groups"
READERS = {ALL: None, GROUPS: {17: (3, 4, 5), 18: (6, 7, 8)}}
"""Who reads the changed wire: every head above L16H0, or these heads, by layer."""

PREDICTIONS = (
    "If only the keys of all heads above read a stream without the note, the second half loses "
    "more than half of what it loses without L16H0.",
    "If only the queries do, it loses less than a quarter of that.",
    "If only the values do, it loses less than a quarter of that.",
    "If only the keys of the two groups do, it loses more than half of that.",
    "With the keys of the two groups the four induction heads keep, in the mean, less than "
    "half of their induction score; with the queries or the values of the groups more than "
    "three quarters.",
)


def usual_note(lm: LanguageModel, over: Sequence[str]) -> Tensor:
    """What L16H0 finds in the mean over all tokens of some texts, (d_head)."""
    layer, head = WRITER
    found = lm._runner.heads_of([lm.ids(text) for text in over], [layer])[layer]
    return torch.cat([z[head] for z in found]).mean(dim=0)


def without_note(lm: LanguageModel, text: str, over: Sequence[str]) -> dict[int, Any]:
    """Return the wires q, k and v of every layer above L16H0, in a stream without its note.

    Every other head is held at what it found with L16H0 on.
    """
    layer, head = WRITER
    held = lm.heads(text)
    held[layer, head] = usual_note(lm, over)
    with ExitStack() as stack:
        found = {
            i: stack.enter_context(trace(lm.attention(i)))
            for i in range(layer + 1, lm.n_layers)
        }
        for i in range(lm.n_layers):
            stack.enter_context(edit(lm.attention(i), "z", partial(_instead, held[i][None])))
        lm.logits(text)
        return {i: {wire: wires[wire].clone() for wire in "qkv"} for i, wires in found.items()}


@contextmanager
def reading(
    lm: LanguageModel, text: str, wire: str, over: Sequence[str], readers: str = ALL
) -> Iterator[None]:
    """Let q, k or v of some heads read a stream without L16H0's note, while the block runs."""
    new, only = without_note(lm, text, over), READERS[readers]
    with ExitStack() as stack:
        for layer in new if only is None else only:
            heads = range(lm.n_heads) if only is None else only[layer]
            group = 1 if wire == "q" else lm.n_heads // lm.attention(layer).n_kv_heads
            places = sorted({head // group for head in heads})
            put = partial(_in_places, new[layer][wire], places, lm.attention(layer).d_head)
            stack.enter_context(edit(lm.attention(layer), wire, put))
        yield


def _instead(new: Tensor, _: Tensor) -> Tensor:
    return new


def _in_places(new: Tensor, places: list[int], d_head: int, usual: Tensor) -> Tensor:
    """Replace the columns of some heads in a wire (text, token, heads · d_head)."""
    by_head = usual.unflatten(-1, (-1, d_head)).clone()
    by_head[..., places, :] = new.unflatten(-1, (-1, d_head))[..., places, :]
    return by_head.flatten(-2)


@cache
def _model() -> LanguageModel:
    return loading.load("SmolLM2-135M")


def other_texts(lm: LanguageModel) -> list[str]:
    """Return the texts of 80 different words, over which L16H0 has its mean."""
    return ["".join(words_twice.words(lm, 2 * N, seed)) for seed in OVER]


@torch.no_grad()
def measured(key: tuple[str, ...]) -> dict[str, Any]:
    """Measure one part: ("on",), ("off",) or (readers, wire)."""
    lm = _model()
    over, found = other_texts(lm), []
    for seed in TEXTS:
        text = words_twice.twice(lm, seed, N)
        with ExitStack() as stack:
            if key == ("off",):
                stack.enter_context(lm.without([WRITER], MEAN, over))
            elif key != ("on",):
                readers, wire = key
                stack.enter_context(reading(lm, text, wire, over, readers))
            scores = induction_scores(lm.attend(text)[1])
            four = torch.stack([scores[head] for head in FOUR]).mean().item()
            found.append([*halves(lm, text), round(four, 4)])
    return {"found": found}


def keys() -> list[tuple[str, ...]]:
    """Every part that is measured."""
    return [("on",), ("off",)] + [(readers, wire) for readers in READERS for wire in "qkv"]


def name(key: tuple[str, ...]) -> str:
    """Return what a part is called in the file.

    >>> name(("the two groups", "k"))
    'the two groups, k'
    """
    return ", ".join(key)


def lost(found: Mapping[str, Any], part: str) -> list[float]:
    """How much more the second half of each text costs than with everything on, in nats."""
    both = zip(found[part], found["on"], strict=True)
    return [changed[1] - on[1] for changed, on in both]


def kept_score(found: Mapping[str, Any], part: str) -> float:
    """Return the share of their induction score that the four heads keep, over all texts."""
    return sum(each[3] for each in found[part]) / sum(each[3] for each in found["on"])


def verdicts(found: Mapping[str, Any]) -> tuple[bool, ...]:
    """Which of the predictions came true, in their order."""
    off = bootstrap.mean_of(lost(found, "off")).mean
    share = {
        part: bootstrap.mean_of(lost(found, part)).mean / off for part in map(name, keys()[2:])
    }
    score = {wire: kept_score(found, name((GROUPS, wire))) for wire in "qkv"}
    return (
        share[name((ALL, "k"))] > 0.5,
        share[name((ALL, "q"))] < 0.25,
        share[name((ALL, "v"))] < 0.25,
        share[name((GROUPS, "k"))] > 0.5,
        score["k"] < 0.5 and min(score["q"], score["v"]) > 0.75,
    )


def run(folder: Path, commit: str, n_processes: int = 1) -> Measured:
    """Measure what is not yet kept in ``folder``, and put all of it together."""
    folder = folder / f"direct_paths-{commit[:12]}"
    parts = units.done(measured, keys(), folder, n_processes=n_processes)
    seconds = sum(part.pop("seconds") for part in parts.values())
    machine = running.machine() | {"seconds": round(seconds), "processes": n_processes}
    found = {"model": SHA256} | {name(key): part["found"] for key, part in parts.items()}
    return Measured(PREDICTIONS, commit, datetime.date.today().isoformat(), machine, found)


if __name__ == "__main__":
    stored = run(Path("build/experiments"), running.predictions_commit(Path(__file__)))
    results.save("direct_paths", stored)
    running.report(PREDICTIONS, verdicts(stored.found))
