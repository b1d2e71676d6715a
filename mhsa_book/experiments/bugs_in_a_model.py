"""What does a language model read and write with a bug of the museum in all of its layers?

SmolLM2 has learned with a right attention. Here all 30 of its attentions are replaced, each by
one that makes the same mistake with the weights of its layer. Three things are measured:

- what it **writes**: twelve tokens behind each of four beginnings, always the likeliest;
- how well it **reads**: the mean loss per token on sixteen sentences, in nats;
- how the right model would read what was written, in nats per token ("surprise"). A text that
  repeats itself surprises little, so this is low for some that are plainly wrong.

Some mistakes are in what is only used later, so a text that is read in one pass does not meet
them. Those with the cache are computed in one pass as a cache would have them: behind the
beginning, every token has the positions, the mask or the keys that it would have had. Two more
change no attention at all. A text that came before is still in the cache, or still in the same
row of a batch without a mask between them; and draft tokens that were rejected are left in the
cache. There the model reads what should be gone, and what it writes then is exactly what such
a cache makes it write.

Before the predictions were written, three of these texts had been seen, those of "no_scale",
"one_token_of_the_future" and "split_by_view_alone" behind "The capital of France is", and
chapter 09 shows what some mistakes make of another sentence. Nothing had been read.

``python -m mhsa_book.experiments.bugs_in_a_model`` runs it, goes on where it was stopped, and
stores what it found with the commit of this file.
"""

import datetime
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples, models
from mhsa_book.examples import annotated
from mhsa_book.exercises.in_the_model import in_every_layer, mistake
from mhsa_book.experiments import running, units
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.smollm2 import SHA256
from mhsa_book.museum import right
from mhsa_book.results import bugs_in_a_model as results
from mhsa_book.results.bugs_in_a_model import RIGHT, Found
from mhsa_lib import functional

Build = Callable[..., Callable[[Tensor, Tensor], Tensor]]

BEGINNINGS = (
    "The capital of France is",
    "Once upon a time there was a little",
    "Monday, Tuesday, Wednesday,",
    "To make a cup of tea, you first boil the",
)

N_NEW = 12

SECRETS = (
    ("The phone number of Anna is 4417.", "The phone number of Peter is"),
    ("The password of the library is thunder.", "The password of the school is"),
    ("My grandmother lives in Lisbon.", "My best friend lives in"),
    ("The cat of our neighbours is called Pepper.", "Our dog is called"),
)
"""A text that should be gone, and the one that is read."""

TOLD = ("4417", "thunder", "Lisbon", "Pepper")
"""What only the text before tells."""

DRAFTS = (" London, and the", " dog who barked", " January, February,", " eggs and then the")
"""Tokens that a draft model guessed behind the beginnings, and the model rejected."""

PREDICTIONS = (
    "Heads split by a view, heads joined without a transpose, W_O forgotten, weights not "
    "transposed and an inverted mask each raise the loss to more than 7 nats.",
    "A missing scale and a scale that is applied twice each cost more than 1 nat.",
    "One token of the future costs less than 1 nat, because the model has never learned to "
    "use a future.",
    "Without any causal mask the loss is higher than with one token of the future.",
    "A mask of ones and zeros that is added to the scores costs less than no mask at all.",
    "The wrong base of the rotation costs less than 0.2 nats: nobody would notice it here.",
    "Key heads that are tiled cost more than 3 nats.",
    "The rotation in the other layout costs more than no rotation at all.",
    "Of the three mistakes with the cache the first token that is written is always right, "
    "and on each of the four beginnings something later is not.",
    "Where a text before is not gone, the model tells at least two of the four secrets.",
)

# --- mistakes that are not among the exercises'


def _attention(
    *,
    rotated: Callable[..., tuple[Tensor, Tensor]] | None = None,
    softmax: Callable[[Tensor, Tensor], Tensor] = right.softmax,
    weights: Callable[[Tensor], Tensor] = lambda W: W,
) -> Build:
    """Return an attention with other angles, another softmax, or other weights of k and v."""

    def build(
        W_Q: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor, n_heads: int, rotate: Any
    ) -> Callable[[Tensor, Tensor], Tensor]:
        def attention(x: Tensor, mask: Tensor) -> Tensor:
            maps = (W_Q, weights(W_K), weights(W_V))
            q, k, v = (functional.split_heads(x @ W, n_heads) for W in maps)
            q, k = rotate(q, k) if rotated is None else rotated(rotate, q, k)
            scores = q @ k.mT / math.sqrt(q.shape[-1])
            return functional.concat_heads(softmax(scores, mask) @ v) @ W_O

        return attention

    return build


def _of_another_base(base: float) -> Callable[..., tuple[Tensor, Tensor]]:
    def rotated(rotate: Any, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        d_head = q.shape[-1]
        rates = base ** -(torch.arange(d_head // 2) * 2 / d_head)
        angle = torch.arange(q.shape[-2])[:, None] * rates
        return right.turn(q, angle), right.turn(k, angle)

    return rotated


def _ones_added(scores: Tensor, mask: Tensor) -> Tensor:
    return torch.softmax(scores + mask.float(), dim=-1)


def _tiled(n_kv_heads: int) -> Callable[[Tensor], Tensor]:
    """Let query head i meet KV head i % n_kv_heads, where neighbours should share one."""

    def weights(W: Tensor) -> Tensor:
        heads = W.unflatten(1, (n_kv_heads, n_kv_heads, -1))  # as many to share as there are
        return heads.transpose(1, 2).flatten(1)

    return weights


def _other_layout(rotate: Any, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Rotate neighbours, though the weights are made for halves."""

    def halves(heads: Tensor) -> Tensor:
        return torch.cat([heads[..., ::2], heads[..., 1::2]], dim=-1)

    return rotate(halves(q), halves(k))


# --- mistakes behind a cache, in one pass


def _positions_begin_again(n_given: int) -> Build:
    def rotated(rotate: Any, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(q.shape[-2])
        return rotate(q, k, places.where(places < n_given, 0))

    return _attention(rotated=rotated)


def _causal_from_the_top_left(n_given: int) -> Build:
    def softmax(scores: Tensor, mask: Tensor) -> Tensor:
        rows = torch.arange(scores.shape[-2])[:, None]
        first = torch.arange(scores.shape[-1]) == 0
        return right.softmax(scores, mask & ((rows < n_given) | first))

    return _attention(softmax=softmax)


def _keys_turned_again(n_given: int) -> Build:
    """With every new token the keys of all earlier ones are rotated by its position as well."""

    def build(
        W_Q: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor, n_heads: int, rotate: Any
    ) -> Callable[[Tensor, Tensor], Tensor]:
        def attention(x: Tensor, mask: Tensor) -> Tensor:
            q, k, v = (functional.split_heads(x @ W, n_heads) for W in (W_Q, W_K, W_V))
            q, turned = rotate(q, k)
            scores = q @ turned.mT
            places = torch.arange(k.shape[-2])
            for now in range(n_given, k.shape[-2]):
                places = places + now * (torch.arange(k.shape[-2]) < now)
                scores[..., now, :] = (q[..., now : now + 1, :] @ rotate(k, k, places)[1].mT)[
                    ..., 0, :
                ]
            z = right.softmax(scores / math.sqrt(q.shape[-1]), mask) @ v
            return functional.concat_heads(z) @ W_O

        return attention

    return build


OWN: dict[str, Build] = {
    "causal_mask_forgotten": mistake("mask_forgotten"),
    "rotation_forgotten": mistake("rotation_forgotten"),
    "mask_of_ones_added": _attention(softmax=_ones_added),
    "base_of_another_model": _attention(rotated=_of_another_base(10_000.0)),
    "the_other_rotary_layout": _attention(rotated=_other_layout),
    "key_heads_tiled": _attention(weights=_tiled(3)),
}

IN_A_CACHE: dict[str, Callable[[int], Build]] = {
    "positions_begin_again": _positions_begin_again,
    "causal_from_the_top_left": _causal_from_the_top_left,
    "keys_turned_again": _keys_turned_again,
}

IN_THE_TEXT = ("the_last_text_is_remembered", "rejected_tokens_stay")

OF_THE_EXERCISES = (
    *(RIGHT, "no_scale", "scaled_twice", "multiplied_by_the_root"),
    *("one_token_of_the_future", "mask_inverted", "scores_times_mask"),
    *("mask_after_the_softmax", "softmax_over_queries", "split_by_view_alone"),
    *("concat_without_transpose", "weights_of_a_linear_not_transposed", "values_turned_too"),
    *("heads_averaged", "W_O_forgotten"),
)

NAMES = (*OF_THE_EXERCISES, *OWN, *IN_A_CACHE, *IN_THE_TEXT)


def build(name: str, n_given: int) -> Build:
    """Return what stands in every layer, for a text of which ``n_given`` tokens are given.

    Raises ``ValueError`` for a name that is none of ``NAMES``.
    """
    if name in IN_A_CACHE:
        return IN_A_CACHE[name](n_given)
    return OWN[name] if name in OWN else mistake(RIGHT if name in IN_THE_TEXT else name)


# --- what is measured


def sentences() -> list[str]:
    """Return the sixteen sentences that are read; none of them is a beginning."""
    return [*examples.TEXTS, *(each.text for each in annotated.sentences()[:8])]


def given(lm: LanguageModel, name: str) -> list[str]:
    """Return what the model has in front of it when it writes, for each text."""
    if name == "the_last_text_is_remembered":
        return [f"{before} {now}" for before, now in SECRETS]
    if name == "rejected_tokens_stay":
        # The first token that is written is the right one, behind tokens that should be gone.
        chosen = [lm.next(beginning, k=1)[0][0] for beginning in BEGINNINGS]
        each = zip(BEGINNINGS, DRAFTS, chosen, strict=True)
        return [beginning + draft + token for beginning, draft, token in each]
    return [*BEGINNINGS]


def write(lm: LanguageModel, name: str, text: str, n: int = N_NEW) -> str:
    """Return ``n`` tokens that the model writes behind a text, with a mistake in all layers."""
    with in_every_layer(lm, build(name, len(lm.ids(text)))):
        return lm.generate(text, n, cache=False)


def loss(lm: LanguageModel, text: str, n_given: int = 1) -> float:
    """Return the mean loss, in nats, of the tokens of a text behind the first ``n_given``."""
    ids = torch.tensor(lm.ids(text))
    chances = lm.logits(text)[:-1].log_softmax(dim=-1)
    losses = -chances.gather(1, ids[1:, None])[n_given - 1 :, 0]
    return round(losses.mean().item(), 4)


@cache
def _model() -> LanguageModel:
    return models.load("SmolLM2-135M")


@torch.no_grad()
def measured(key: Sequence[str]) -> dict[str, Any]:
    """Return what one mistake writes and reads, and how the right model reads the former."""
    lm, (name,) = _model(), key
    texts = given(lm, name)
    wrote = [write(lm, name, text) for text in texts]
    pairs = zip(texts, wrote, strict=True)
    surprise = [loss(lm, text + new, len(lm.ids(text))) for text, new in pairs]
    if name in IN_THE_TEXT:
        return {"wrote": wrote, "surprise": surprise, "read": []}
    read = []
    for text in sentences():
        with in_every_layer(lm, build(name, len(lm.ids(text)))):
            read.append(loss(lm, text))
    return {"wrote": wrote, "surprise": surprise, "read": read}


def without(lm: LanguageModel) -> list[str]:
    """Return what the right model writes where the text before is gone."""
    return [lm.generate(now, N_NEW) for _, now in SECRETS]


def verdicts(found: Found) -> tuple[bool, ...]:
    """Return which of the predictions came true, in their order."""
    read, costs = found.reads, {name: found.costs(name).mean for name in found.reads}
    all_lost = (
        *("split_by_view_alone", "concat_without_transpose", "W_O_forgotten"),
        *("weights_of_a_linear_not_transposed", "mask_inverted"),
    )
    firsts = [
        found.first_word_is_right(name, i) and found.writes[name][i] != found.writes[RIGHT][i]
        for name in IN_A_CACHE
        for i in range(len(BEGINNINGS))
    ]
    return (
        min(sum(read[name]) / len(read[name]) for name in all_lost) > 7,
        min(costs["no_scale"], costs["scaled_twice"]) > 1,
        costs["one_token_of_the_future"] < 1,
        costs["causal_mask_forgotten"] > costs["one_token_of_the_future"],
        costs["mask_of_ones_added"] < costs["causal_mask_forgotten"],
        costs["base_of_another_model"] < 0.2,
        costs["key_heads_tiled"] > 3,
        costs["the_other_rotary_layout"] > costs["rotation_forgotten"],
        all(firsts),
        sum(found.tells(TOLD)) >= 2,
    )


def again(lm: LanguageModel, found: Found, names: Iterable[str]) -> bool:
    """Let some mistakes write their first text and read their first sentence again."""
    same = []
    for name in names:
        text = given(lm, name)[0]
        same.append(write(lm, name, text) == found.writes[name][0])
        if name in found.reads:
            sentence = sentences()[0]
            with in_every_layer(lm, build(name, len(lm.ids(sentence)))):
                same.append(abs(loss(lm, sentence) - found.reads[name][0]) < 5e-3)
    return all(same)


def run(folder: Path, commit: str, n_processes: int = 1) -> Found:
    """Measure what is not yet kept in ``folder``, and put all of it together.

    ``commit`` is the one that holds the predictions.
    """
    folder = folder / f"bugs_in_a_model-{commit[:12]}"
    parts = units.done(measured, [(name,) for name in NAMES], folder, n_processes=n_processes)
    seconds = sum(part.pop("seconds") for part in parts.values())

    def of(what: str) -> dict[str, Any]:
        return {name: part[what] for (name,), part in parts.items() if part[what]}

    return Found(
        PREDICTIONS,
        commit,
        datetime.date.today().isoformat(),
        running.machine() | {"seconds": round(seconds), "processes": n_processes},
        SHA256,
        of("wrote"),
        of("read"),
        of("surprise"),
        without(_model()),
    )


if __name__ == "__main__":
    stored = run(Path("build/experiments"), running.predictions_commit(Path(__file__)))
    results.save(stored)
    running.report(PREDICTIONS, verdicts(stored))
