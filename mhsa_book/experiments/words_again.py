"""Which heads of SmolLM2 go on with random words that it reads a second time?

40 words that are drawn, and the same 40 again. An induction head is one that attends, in the
second half, to what followed the word the first time; a previous-token head attends to the word
before. Heads are chosen by these two scores on four texts, and everything is reported on eight
others.

Sets of heads are switched off at their mean over four texts of 80 different words, or at what
they found at the same position in one of these ("resample"): texts in which nothing comes back,
so that there is nothing to go on with. The four and the eight heads with the highest induction
score; every head with a previous-token score of a half or more, alone; and as controls four
heads that are drawn, three times from the layers of the four and three times anywhere, none of
which has an induction score above 0.2 or a previous-token score of a half.

Then the path from L16H0. What the queries, or the keys, or the values of all later layers would
be without this head is put into a pass in which it is on.

Before the predictions were written, other texts had been looked at (seeds 0 to 3, on two of
which heads were switched off): L18H6, L17H3, L17H4 and L18H7 led by their induction scores;
without them the second half lost about 6 nats, and without L16H0 about 5; four others of layers
17 and 18 changed less than 0.1. Without L16H0 the four attended nearly nowhere, without L11H1,
as sharp a previous-token head, as before. So predictions 1 to 5 are in part of something seen
on other texts. What the second half loses without the other previous-token heads, one at a
time, and whether it is keys, queries or values, had not been looked at.

``python -m mhsa_book.experiments.words_again`` runs it and goes on where it was stopped.
"""

import datetime
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mhsa_book import measure, models
from mhsa_book.experiments import running, units
from mhsa_book.models import words_twice
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.smollm2 import SHA256
from mhsa_book.models.switching import Head
from mhsa_book.results import bootstrap
from mhsa_book.results import measured as results
from mhsa_book.results.measured import Measured
from mhsa_lib.tracing.editing import edit
from mhsa_lib.tracing.wires import trace

N = 40
"""Words before they come again."""

CHOOSING, REPORTED, OVER = range(100, 104), range(200, 208), range(300, 304)
"""Seeds of the texts that choose heads, of those that report, and of 80 different words."""

MEAN, RESAMPLE = "mean", "resample"
ALL_ON, FOUR, EIGHT = "all on", "four", "eight"
WRITER: Head = (16, 0)
"""The previous-token head whose path is followed."""

PREDICTIONS = (
    "The four heads with the highest induction scores on the texts that choose have the four "
    "highest on the others.",
    "Without the four, the second half loses 4 nats or more in every text, at their mean, and "
    "3 or more resampled; the first half changes by less than 0.3 in the mean.",
    "Without any of the six sets of four that are drawn, the second half loses less than 1 nat "
    "in the mean, in both ways.",
    "Without L16H0 alone the second half loses 3 nats or more in every text; without any other "
    "previous-token head it loses less than 1 in the mean.",
    "Without L16H0 each of the four has less than half of its induction score.",
    "If only the keys of the later layers are those without L16H0, the second half loses half "
    "or more of what it loses without the head; with only the queries or only the values, less "
    "than a quarter.",
)


def induction_scores(weights: Tensor) -> Tensor:
    """Mean weight on what followed the word the first time: (layer, head)."""
    return measure.at_offset(weights[:, :, N:], 1 - N)


@cache
def _model() -> LanguageModel:
    return models.load("SmolLM2-135M")


@cache
def _over() -> list[str]:
    return ["".join(words_twice.words(_model(), 2 * N, seed)) for seed in OVER]


def halves(lm: LanguageModel, text: str) -> list[float]:
    """Mean loss of the first half and of the second, and the share of right guesses there.

    The first word of each half is left out: nothing announces it.
    """
    ids, logits = lm.ids(text), lm.logits(text)
    losses = -logits[:-1].log_softmax(dim=-1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
    right = (logits[N:-1].argmax(dim=-1) == torch.tensor(ids[N + 1 :])).float().mean()
    found = losses[: N - 1].mean(), losses[N:].mean(), right
    return [round(each.item(), 4) for each in found]


def scores(lm: LanguageModel, seeds: Sequence[int]) -> dict[str, list[list[float]]]:
    """Induction and previous-token score of every head, the mean over some texts."""
    found: dict[str, list[Tensor]] = {"induction": [], "previous": []}
    for seed in seeds:
        _, weights = lm.attend(words_twice.twice(lm, seed, N))
        found["induction"].append(induction_scores(weights))
        found["previous"].append(measure.at_offset(weights, -1))
    means = {name: torch.stack(each).mean(dim=0) for name, each in found.items()}
    return {
        name: [[round(score, 4) for score in layer] for layer in mean.tolist()]
        for name, mean in means.items()
    }


def sets(chosen: Mapping[str, list[list[float]]]) -> dict[str, list[Head]]:
    """Return the heads that are off together, by the scores on the texts that choose."""
    induction, previous = (torch.tensor(chosen[name]) for name in ("induction", "previous"))
    n_layers, n_heads = induction.shape
    order = induction.flatten().argsort(descending=True).tolist()
    ranked = [divmod(place, n_heads) for place in order]
    found = {FOUR: ranked[:4], EIGHT: ranked[:8]}
    for layer, head in (previous >= 0.5).nonzero().tolist():
        found[f"L{layer}H{head}"] = [(layer, head)]
    others = [
        (layer, head)
        for layer in range(n_layers)
        for head in range(n_heads)
        if induction[layer, head] <= 0.2 and previous[layer, head] < 0.5
    ]
    for n in range(1, 4):
        at_random = random.Random(n)
        found[f"anywhere {n}"] = sorted(at_random.sample(others, 4))
        same: list[Head] = []
        for layer, _ in found[FOUR]:
            left = [head for head in others if head[0] == layer and head not in same]
            same.append(at_random.choice(left))
        found[f"same layers {n}"] = sorted(same)
    return found


@contextmanager
def reading_without(
    lm: LanguageModel, text: str, writer: Head, wire: str, over: Sequence[str]
) -> Iterator[None]:
    """Give one of q, k and v in all later layers what it would be with a head off.

    The head itself stays on, and so all other wires read what it writes.
    """
    later = range(writer[0] + 1, lm.n_layers)
    with ExitStack() as stack, lm.without([writer], MEAN, over):
        traces = {i: stack.enter_context(trace(lm.attention(i))) for i in later}
        lm.logits(text)
        put = {i: traces[i][wire].clone() for i in later}
    with ExitStack() as stack:
        for i in later:
            stack.enter_context(edit(lm.attention(i), wire, partial(_instead, put[i])))
        yield


def _instead(new: Tensor, _: Tensor) -> Tensor:
    return new


@torch.no_grad()
def measured(off: Mapping[str, list[Head]], key: tuple[str, ...]) -> dict[str, Any]:
    """Measure one part.

    ("scores", which texts), ("without the writer",), ("off", set, way) or ("path", wire).
    """
    lm, (part, *which) = _model(), key
    if part == "scores":
        return scores(lm, {"choosing": CHOOSING, "reported": REPORTED}[which[0]])
    if part == "without the writer":
        with lm.without([WRITER], MEAN, _over()):
            return scores(lm, REPORTED)
    texts, found = [words_twice.twice(lm, seed, N) for seed in REPORTED], []
    if part == "path":
        for text in texts:
            with reading_without(lm, text, WRITER, which[0], _over()):
                found.append(halves(lm, text))
        return {"halves": found}
    name, how = which
    with lm.without(off.get(name, []), how, _over()):
        return {"halves": [halves(lm, text) for text in texts]}


def lost(found: Mapping[str, Any], name: str, how: str = MEAN) -> list[float]:
    """How much more the second half of each text costs with a set of heads off, in nats."""
    whole = found["off"][ALL_ON][MEAN]
    return [off[1] - on[1] for off, on in zip(found["off"][name][how], whole, strict=True)]


def lost_by_path(found: Mapping[str, Any], wire: str) -> list[float]:
    """The same, if only one of q, k and v reads what is there without L16H0."""
    whole = found["off"][ALL_ON][MEAN]
    return [off[1] - on[1] for off, on in zip(found["path"][wire], whole, strict=True)]


def drawn_sets(found: Mapping[str, Any]) -> list[str]:
    """Names of the sets of four that were drawn."""
    return [name for name in found["sets"] if " " in name]


def previous_heads(found: Mapping[str, Any]) -> list[str]:
    """Names of the previous-token heads."""
    return [name for name in found["sets"] if name.startswith("L")]


def verdicts(found: Mapping[str, Any]) -> tuple[bool, ...]:
    """Which of the predictions came true, in their order."""
    reported = torch.tensor(found["scores"]["reported"]["induction"])
    highest = {
        divmod(i, reported.shape[1]) for i in reported.flatten().topk(4).indices.tolist()
    }
    four = [tuple(head) for head in found["sets"][FOUR]]
    without = torch.tensor(found["scores"]["without the writer"]["induction"])
    off, on = found["off"], found["off"][ALL_ON][MEAN]

    def first_half(how: str) -> float:
        both = zip(off[FOUR][how], on, strict=True)
        return bootstrap.mean_of([each[0] - whole[0] for each, whole in both]).mean

    ways, writer = (MEAN, RESAMPLE), "L{}H{}".format(*WRITER)
    others = [name for name in previous_heads(found) if name != writer]
    head_off = bootstrap.mean_of(lost(found, writer)).mean
    by_path = {wire: bootstrap.mean_of(lost_by_path(found, wire)).mean for wire in "qkv"}
    return (
        highest == {*four},
        min(lost(found, FOUR)) >= 4
        and min(lost(found, FOUR, RESAMPLE)) >= 3
        and max(abs(first_half(how)) for how in ways) < 0.3,
        all(
            bootstrap.mean_of(lost(found, name, how)).mean < 1
            for name in drawn_sets(found)
            for how in ways
        ),
        min(lost(found, writer)) >= 3
        and all(bootstrap.mean_of(lost(found, name)).mean < 1 for name in others),
        all(without[head] < reported[head] / 2 for head in four),
        by_path["k"] >= head_off / 2 and max(by_path["q"], by_path["v"]) < head_off / 4,
    )


def again(lm: LanguageModel, found: Mapping[str, Any], names: Sequence[str]) -> float:
    """Measure the first reported text with some sets off again; the largest difference."""
    text, apart = words_twice.twice(lm, REPORTED[0], N), []
    over = ["".join(words_twice.words(lm, 2 * N, seed)) for seed in OVER]
    for name in names:
        with lm.without([(i, j) for i, j in found["sets"].get(name, [])], MEAN, over):
            now = halves(lm, text)
        stored = found["off"][name][MEAN][0]
        apart += [abs(a - b) for a, b in zip(now[:2], stored[:2], strict=True)]
    return max(apart)


def run(folder: Path, commit: str, n_processes: int = 1) -> Measured:
    """Measure what is not yet kept in ``folder``, and put all of it together."""
    folder, do = folder / f"words_again-{commit[:12]}", units.done
    first: list[Any] = [("scores", "choosing"), ("scores", "reported"), ("without the writer",)]
    first += [("path", wire) for wire in "qkv"]
    parts = do(partial(measured, {}), first, folder, n_processes=n_processes)
    seconds = sum(part.pop("seconds") for part in parts.values())
    off = sets(parts["scores", "choosing"])
    ways = [(name, how) for name in off for how in (MEAN, RESAMPLE) if not name.startswith("L")]
    ways += [(name, MEAN) for name in (*previous_heads({"sets": off}), ALL_ON)]
    keys: list[Any] = [("off", *way) for way in ways]
    by_set = do(partial(measured, off), keys, folder, n_processes=n_processes)
    seconds += sum(part.pop("seconds") for part in by_set.values())
    found: dict[str, Any] = {
        "model": SHA256,
        "sets": off,
        "scores": {key[-1]: parts[key] for key in first[:2]}
        | {"without the writer": parts["without the writer",]},
        "path": {wire: parts["path", wire]["halves"] for wire in "qkv"},
        "off": {name: {} for name, _ in ways},
    }
    for name, how in ways:
        found["off"][name][how] = by_set["off", name, how]["halves"]
    machine = running.machine() | {"seconds": round(seconds), "processes": n_processes}
    return Measured(PREDICTIONS, commit, datetime.date.today().isoformat(), machine, found)


if __name__ == "__main__":
    stored = run(Path("build/experiments"), running.predictions_commit(Path(__file__)))
    results.save("words_again", stored)
    running.report(PREDICTIONS, verdicts(stored.found))
