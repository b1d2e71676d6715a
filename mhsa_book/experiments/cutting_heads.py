"""Which heads of SmolLM2 can go, and does it matter in which order they are cut out?

All 270 heads are put in an order, and the first of it are cut out, in five sizes of cut:
their z is zero, so nothing of them is left. Orders are made on six texts, and what is lost is
measured on twelve others, and on the task of the first page, who gets the drink, of which no
order was told. An order is

- drawn, four times, and of whole KV groups (the three heads that share keys and values) three
  times;
- by what the model loses without each head alone;
- by the gradient, the mean over tokens of abs(z · dL/dz): as it is, and divided within each
  layer by the root of the sum of squares, which is what Michel et al. report;
- by the length of what a head writes, z W_O, on average over tokens;
- of whole KV groups, by the sum of what their three heads cost alone.

In two more arms a head that is cut leaves its mean over the six texts behind, a constant that
a bias of W_O can hold.

Texts are of three kinds, 80 tokens each, so many in each half: passages of *Pride and
Prejudice*; sentences written for this book, put one behind the other; and what the model
itself answers to questions, in the form of its instruction tuning, where only the answer
counts.

``python -m mhsa_book.experiments.cutting_heads`` runs it, goes on where it was stopped, and
stores every text's numbers with the commit of this file. Seven sizes of cut were planned; 18
and 108 were left out to save time, before any order was measured.

Source: Michel, Levy and Neubig, "Are Sixteen Heads Really Better than One?", arXiv 1905.10650.
"""

import datetime
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mhsa_book import models
from mhsa_book.examples import annotated, novel
from mhsa_book.experiments import running, units
from mhsa_book.experiments import who_gets_the_drink as drink
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.smollm2 import SHA256
from mhsa_book.models.switching import Head
from mhsa_book.results import cutting_heads as results
from mhsa_book.results.cutting_heads import (
    ALONE,
    ALONE_MEAN,
    CUTS,
    GRADIENT,
    GRADIENT_BY_LAYER,
    GROUPS,
    KINDS,
    LENGTH,
    RANDOM,
    RANDOM_GROUPS,
    RANDOM_MEAN,
    Found,
)
from mhsa_lib.tracing.editing import edit

N_TOKENS = 80
N_CHOOSING, N_MEASURED = 2, 4
"""Texts of each kind on which orders are made, and on which the loss is measured."""

QUESTIONS = (
    "Why is the sky blue?",
    "How does a bicycle stay upright?",
    "What does the heart do?",
    "Why do leaves change colour in autumn?",
    "How is bread made?",
    "Why does the moon have phases?",
)

PREDICTIONS = (
    "Alone, at least 200 of the 270 heads change the loss on the choosing texts by less than "
    "0.02 nats a token.",
    "With 27 heads cut, the order by each head alone loses less than each of the four that are "
    "drawn.",
    "With 54 heads cut, it loses less than 0.3 nats a token, and the drawn orders on average "
    "more than three times as much as it.",
    "With 54 heads cut, the order by length loses less than the median of the drawn ones.",
    "With 54 heads cut, the gradient divided within each layer loses more than the gradient as "
    "it is.",
    "With 81 heads cut in the order by each alone, the loss is more than twice the sum of what "
    "they cost alone.",
    "Whole KV groups that are drawn lose as much as scattered heads: with 27 and with 54 cut "
    "the means of the two kinds of draw differ by less than the draws of scattered heads do.",
    "A head that leaves its mean behind costs less: in both orders, with 27 and with 54 cut.",
    "The drink goes before the text: in the order by each alone, the first cut that leaves the "
    "right name ahead on fewer than three quarters of the prompts costs less than 0.5 nats a "
    "token.",
    "With 135 heads cut, half of all, every order loses more than 1 nat a token.",
)

FIRST_LAYERS = range(0, 30, 5)
"""Heads are cut alone in units of five layers."""


class Text(NamedTuple):
    """Ids of a text, and the place of the first token that counts."""

    ids: list[int]
    first: int


def passages(lm: LanguageModel) -> list[Text]:
    """The first 80 tokens of six long paragraphs of the novel, far from each other."""
    long = [ids for line in novel.paragraphs() if len(ids := lm.ids(line)) > 2 * N_TOKENS]
    n = N_CHOOSING + N_MEASURED
    return [Text(long[i * len(long) // n][:N_TOKENS], 1) for i in range(n)]


def sentences(lm: LanguageModel) -> list[Text]:
    """Sentences of the book, in their order, as six texts of 80 tokens."""
    ids = lm.ids(" ".join(sentence.text for sentence in annotated.sentences()))
    n = N_CHOOSING + N_MEASURED
    return [Text(ids[i * N_TOKENS : (i + 1) * N_TOKENS], 1) for i in range(n)]


def asked(question: str) -> str:
    r"""A question in the form of the instruction tuning.

    >>> asked("Why?")
    '<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n'
    """
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


def answers(lm: LanguageModel) -> list[str]:
    """What the model answers to the six questions, each with its question up to 80 tokens."""
    return [
        lm.generate(asked(question), N_TOKENS - len(lm.ids(asked(question))))
        for question in QUESTIONS
    ]


def halves(lm: LanguageModel, answered: Sequence[str]) -> tuple[list[Text], list[Text]]:
    """The texts that make orders, and those that are measured: kinds one behind the other."""
    replies = []
    for question, answer in zip(QUESTIONS, answered, strict=True):
        before = lm.ids(asked(question))
        replies.append(Text([*before, *lm.ids(answer)][:N_TOKENS], len(before)))
    kinds = dict(zip(KINDS, (passages(lm), sentences(lm), replies), strict=True))
    return (
        [text for texts in kinds.values() for text in texts[:N_CHOOSING]],
        [text for texts in kinds.values() for text in texts[N_CHOOSING:]],
    )


class Sample:
    """Texts in the model at once, with the stream in front of every layer.

    ``LanguageModel`` takes one text at a time, which is slower. Shorter texts are filled up at
    their end, where a causal model cannot look.
    """

    def __init__(self, lm: LanguageModel, texts: Sequence[Text]) -> None:
        longest = max(len(text.ids) for text in texts)
        filled = [text.ids + [0] * (longest - len(text.ids)) for text in texts]
        self.ids = torch.tensor(filled)
        at = torch.arange(longest)
        self.real = torch.stack([at < len(text.ids) for text in texts])
        self.counts = self.real & torch.stack([at >= text.first for text in texts])
        self.decoder = lm._runner.decoder
        self.layers: list[Any] = [*self.decoder.layers]
        x, self._streams = self.decoder.embed(self.ids), list[Tensor]()
        for layer in self.layers:
            self._streams.append(x)
            x = layer(x)
        self._streams.append(x)

    def stream(self, off: Tensor, instead: Tensor | None = None) -> Tensor:
        """Behind the last layer, with heads off (layer, head) and what they leave behind."""
        cut = off.any(dim=1)
        first = int(cut.float().argmax()) if cut.any() else len(self.layers)
        x = self._streams[first]
        for i in range(first, len(self.layers)):
            left = torch.zeros(1, 1) if instead is None else instead[i]
            change = partial(_cut, off[i], left)
            changed = edit(self.layers[i].attention, "z", change)
            with changed if off[i].any() else nullcontext():
                x = self.layers[i](x)
        return x

    def losses(self, off: Tensor, instead: Tensor | None = None) -> list[float]:
        """Nats a token, of each text."""
        stream = self.stream(off, instead)
        nats = self.nats(self.decoder.unembed(stream[:, :-1]))
        return [round(each, 4) for each in (nats.sum(dim=1) / self._n_counted()).tolist()]

    def nats(self, logits: Tensor) -> Tensor:
        """The loss of every token that counts, 0 for others: (text, token but the first)."""
        nats = nn.functional.cross_entropy(
            logits.transpose(1, 2), self.ids[:, 1:], reduction="none"
        )
        return nats * self.counts[:, 1:]

    def _n_counted(self) -> Tensor:
        return self.counts[:, 1:].sum(dim=1)


def _cut(off: Tensor, left: Tensor, z: Tensor) -> Tensor:
    return torch.where(off[:, None, None], left[:, None, :].to(z), z)


def marked(heads: Sequence[Head]) -> Tensor:
    """Which heads are meant, (layer, head)."""
    off = torch.zeros(30, 9, dtype=torch.bool)
    for layer, head in heads:
        off[layer, head] = True
    return off


@torch.no_grad()
def alone(lm: LanguageModel, texts: Sequence[Text], layers: Sequence[int]) -> dict[str, Any]:
    """What each head of some layers costs alone, for each text that makes orders."""
    sample = Sample(lm, texts)
    whole, found = sample.losses(marked([])), {}
    for head in [(layer, j) for layer in layers for j in range(lm.n_heads)]:
        losses = zip(sample.losses(marked([head])), whole, strict=True)
        found[results.name(head)] = [round(after - before, 4) for after, before in losses]
    return found


def by_gradient(lm: LanguageModel, texts: Sequence[Text]) -> Tensor:
    """The mean over tokens of abs(z · dL/dz), (layer, head); L is the sum over tokens."""
    with torch.no_grad():
        sample = Sample(lm, texts)
    ones: list[Tensor] = []

    def watched(z: Tensor) -> Tensor:
        ones.append(torch.ones(*z.shape[:-1], 1, requires_grad=True))
        return z * ones[-1]

    with torch.enable_grad(), ExitStack() as stack:
        for layer in sample.layers:
            stack.enter_context(edit(layer.attention, "z", watched))
        x = sample.decoder.embed(sample.ids)
        for layer in sample.layers:
            x = layer(x)
        loss = sample.nats(sample.decoder.unembed(x[:, :-1])).sum()
        slopes = torch.autograd.grad(loss, ones)
    return torch.stack([s.abs().sum(dim=(0, 2, 3)) for s in slopes]) / int(sample.real.sum())


@torch.no_grad()
def lengths_and_means(lm: LanguageModel, texts: Sequence[Text]) -> tuple[Tensor, Tensor]:
    """Of each head the mean length of z W_O, (layer, head), and its mean z, with d_head."""
    lengths, means = [], []
    z = torch.cat([lm._runner.heads(text.ids).transpose(1, 2) for text in texts], dim=1)
    for layer, of_layer in enumerate(z):  # (token, head, d_head)
        W_O = lm.weights(layer)["W_O"].unflatten(0, (lm.n_heads, lm.d_head))
        written = torch.einsum("thd,hde->the", of_layer, W_O)
        lengths.append(written.norm(dim=-1).mean(dim=0))
        means.append(of_layer.mean(dim=0))
    return torch.stack(lengths), torch.stack(means)


def scores(lm: LanguageModel, texts: Sequence[Text]) -> dict[str, Any]:
    """What the gradient and the length say of every head: 270 numbers each."""
    gradient = by_gradient(lm, texts)
    normed = gradient / gradient.norm(dim=1, keepdim=True)
    lengths, _ = lengths_and_means(lm, texts)
    found = {GRADIENT: gradient, GRADIENT_BY_LAYER: normed, LENGTH: lengths}
    return {way: [round(x, 5) for x in of.flatten().tolist()] for way, of in found.items()}


def orders(
    cost_alone: Mapping[str, Sequence[float]], scored: Mapping[str, Sequence[float]]
) -> dict[str, list[Head]]:
    """All heads in every order, the first to go first."""
    heads = [(layer, j) for layer in range(30) for j in range(9)]
    groups = [[(layer, 3 * g + j) for j in range(3)] for layer in range(30) for g in range(3)]
    cost = {head: sum(cost_alone[results.name(head)]) for head in heads}
    found = {name: random.Random(i).sample(heads, 270) for i, name in enumerate(RANDOM)}
    for i, name in enumerate(RANDOM_GROUPS):
        found[name] = [h for group in random.Random(100 + i).sample(groups, 90) for h in group]
    found[ALONE] = sorted(heads, key=lambda head: cost[head])
    for way, numbers in scored.items():
        score = dict(zip(heads, numbers, strict=True))
        found[way] = sorted(heads, key=score.__getitem__)
    groups.sort(key=lambda group: sum(cost[head] for head in group))
    found[GROUPS] = [head for group in groups for head in group]
    return found | {RANDOM_MEAN: found[RANDOM[0]], ALONE_MEAN: found[ALONE]}


def prompts() -> tuple[list[str], list[drink.Names]]:
    """Twenty prompts with held-out names: ten of each order of the two, and their names."""
    pairs = drink.held_out()[:20]
    templates = ("store", "giver first")
    return [drink.prompt(templates[i // 2 % 2], p) for i, p in enumerate(pairs)], pairs


@cache
def _samples(lm: LanguageModel, answered: tuple[str, ...]) -> tuple[Sample, Sample]:
    """The measured texts and the prompts, which all orders share."""
    texts, _ = prompts()
    gifts = [Text(lm.ids(text), 1) for text in texts]
    return Sample(lm, halves(lm, answered)[1]), Sample(lm, gifts)


@torch.no_grad()
def losses_of(
    lm: LanguageModel, answered: Sequence[str], order: Sequence[Head], mean: bool
) -> dict[str, Any]:
    """Loss of every measured text, and log-chances of the names, for every size of cut."""
    choosing, _ = halves(lm, answered)
    instead = lengths_and_means(lm, choosing)[1] if mean else None
    sample, gifts = _samples(lm, tuple(answered))
    _, names = prompts()
    wanted = torch.tensor([[lm.id(f" {name}") for name in pair] for pair in names])
    found: dict[str, Any] = {"texts": [], "drink": []}
    for n in (0, *CUTS):
        off = marked(order[:n])
        found["texts"].append(sample.losses(off, instead))
        last = gifts.decoder.unembed(gifts.stream(off, instead)[:, -1]).log_softmax(dim=-1)
        rows = last.gather(1, wanted).tolist()
        found["drink"].append([[round(p, 4) for p in row] for row in rows])
    return found


@cache
def _model() -> LanguageModel:
    return models.load("SmolLM2-135M")


def part(
    answered: Sequence[str], put_in_order: Mapping[str, list[Head]], key: tuple[Any, ...]
) -> dict[str, Any]:
    """One part: ("answers",), ("alone", first of five layers), ("scores",), ("order", name)."""
    lm, (what, *which) = _model(), key
    if what == "answers":
        return {"answers": answers(lm)}
    if what == "order":
        order = put_in_order[which[0]]
        return losses_of(lm, answered, order, which[0] in (RANDOM_MEAN, ALONE_MEAN))
    choosing, _ = halves(lm, answered)
    if what == "scores":
        return scores(lm, choosing)
    return alone(lm, choosing, range(which[0], which[0] + 5))


def verdicts(found: Found) -> tuple[bool, ...]:
    """Which of the predictions came true, in their order."""

    def lost(way: str, n: int) -> float:
        return found.lost(way, n).mean

    def drawn(n: int, ways: Sequence[str] = RANDOM) -> list[float]:
        return sorted(lost(way, n) for way in ways)

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    cost = found.cost_alone()
    named = [results.name(head) for head in found.orders[ALONE][:81]]
    few = [n for n in CUTS if found.leads(ALONE, n).mean < 3 / 4]
    both = ((RANDOM_MEAN, RANDOM[0]), (ALONE_MEAN, ALONE))
    return (
        sum(abs(value) < 0.02 for value in cost.values()) >= 200,
        lost(ALONE, 27) < drawn(27)[0],
        lost(ALONE, 54) < 0.3 and mean(drawn(54)) > 3 * lost(ALONE, 54),
        lost(LENGTH, 54) < mean(drawn(54)[1:3]),
        lost(GRADIENT_BY_LAYER, 54) > lost(GRADIENT, 54),
        lost(ALONE, 81) > 2 * sum(cost[name] for name in named),
        all(
            abs(mean(drawn(n)) - mean(drawn(n, RANDOM_GROUPS))) < drawn(n)[-1] - drawn(n)[0]
            for n in (27, 54)
        ),
        all(lost(kept, n) < lost(gone, n) for kept, gone in both for n in (27, 54)),
        bool(few) and lost(ALONE, few[0]) < 0.5,
        all(lost(way, 135) > 1 for way in found.orders),
    )


def run(folder: Path, commit: str, n_processes: int = 1) -> Found:
    """Measure what is not yet kept in ``folder``, and put all of it together.

    ``commit`` is the one that holds the predictions.
    """
    folder = folder / f"cutting_heads-{commit[:12]}"
    seconds = 0.0

    def done(keys: list[Any], *given: Any) -> dict[Any, Any]:
        nonlocal seconds
        parts = units.done(partial(part, *given), keys, folder, n_processes=n_processes)
        seconds += sum(each.pop("seconds") for each in parts.values())
        return parts

    (answered,) = (each["answers"] for each in done([("answers",)], (), {}).values())
    keys: list[Any] = [("alone", layer) for layer in FIRST_LAYERS]
    parts = done([*keys, ("scores",)], answered, {})
    scored = parts.pop(("scores",))
    cost = {name: costs for key in keys for name, costs in parts[key].items()}
    put_in_order = orders(cost, scored)
    parts = done([("order", name) for name in put_in_order], answered, put_in_order)
    of = {name: each for (_, name), each in parts.items()}
    date = datetime.date.today().isoformat()
    machine = running.machine() | {"seconds": round(seconds), "processes": n_processes}
    return Found(
        PREDICTIONS,
        commit,
        date,
        machine,
        SHA256,
        answered,
        cost,
        scored,
        put_in_order,
        {name: each["texts"] for name, each in of.items()},
        {name: each["drink"] for name, each in of.items()},
    )


def again(lm: LanguageModel, found: Found, way: str, n: int, at: int) -> float:
    """Measure one text of one cut again, by ``lm.without``; return the difference in nats.

    The run put all texts through the model at once, and had its own code to cut heads.
    """
    choosing, measured = halves(lm, found.answers)
    text = measured[at]
    over = [lm.text(each.ids) for each in choosing]
    how = "mean" if way in (RANDOM_MEAN, ALONE_MEAN) else "zero"
    heads = [(layer, head) for layer, head in found.orders[way][:n]]
    with lm.without(heads, how, over):
        chances = lm.logits(lm.text(text.ids))[:-1].log_softmax(dim=-1)
    nats = [-chances[i, text.ids[i + 1]].item() for i in range(text.first - 1, len(chances))]
    stored = found.texts[way][(0, *CUTS).index(n)][at]
    return abs(sum(nats) / len(nats) - stored)


if __name__ == "__main__":
    stored = run(Path("build/experiments"), running.predictions_commit(Path(__file__)))
    results.save(stored)
    running.report(PREDICTIONS, verdicts(stored))
