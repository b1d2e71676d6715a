"""What the page asks of the language model, answered in Python: the twin of ``answers.js``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mhsa_book.models.language_model import LanguageModel
from mhsa_book.widgets.packed import packed
from mhsa_lib.tracing.hooks import Hooks

SHOWN = 10
"""Next words that are shown."""


@dataclass
class Pass:
    """What a pass over a text leaves: logits of the next token, and weights of all heads.

    ``z`` (layer, head, token, d_head) is what each head has read. Of the last token: what each
    feed-forward wrote (layer, d_model), and the vector before the first layer and behind the
    last.
    """

    logits: Tensor
    weights: Tensor
    z: Tensor
    fed: Tensor
    embedded: Tensor
    last: Tensor


def read(lm: LanguageModel, text: str, off: Mapping[int, Tensor] | None = None) -> Pass:
    """A pass in which each head of ``off``, counted through all layers, writes what is given.

    >>> from mhsa_book import models
    >>> read(models.load("SmolLM2-135M"), "The capital").z.shape
    torch.Size([30, 9, 2, 64])
    """
    weights: list[Tensor] = []
    z: list[Tensor] = []
    fed: list[Tensor] = []
    stream: list[Tensor] = []

    def switched(layer: int, given: Tensor) -> Tensor:
        changed = given.clone()
        for head, instead in (off or {}).items():
            if head // lm.n_heads == layer:
                changed[0, head % lm.n_heads] = instead
        z.append(changed[0])
        return changed

    with torch.no_grad(), Hooks(lm._decoder) as hooks:
        hooks.after(lm._decoder.embed, lambda _, __, x: stream.append(x[0, -1]))
        hooks.after(lm._decoder.norm, lambda _, given, __: stream.append(given[0][0, -1]))
        for i in range(lm.n_layers):
            attend, layer = lm.attention(i).attend, lm._decoder.layers[i]
            hooks.after(attend.weights, lambda _, __, w: weights.append(w[0]))
            hooks.after(attend, lambda _, __, given, i=i: switched(i, given))
            hooks.after(layer.feed_forward, lambda _, __, y: fed.append(y[0, -1]))
        logits = lm.logits(text)[-1]
    embedded, last = stream
    return Pass(logits, torch.stack(weights), torch.stack(z), torch.stack(fed), embedded, last)


@torch.no_grad()
def contributions(lm: LanguageModel, seen: Pass, ids: Sequence[int]) -> list[dict[str, Any]]:
    """What every part adds to the logits of some tokens, the last norm's scale as it is."""
    norm = lm._decoder.norm
    scale = (seen.last.square().mean() + norm.eps).rsqrt()
    directions = lm._decoder.embed.weight[list(ids)] * norm.weight * scale
    W_O = torch.stack([lm.attention(i).W_O.weight for i in range(lm.n_layers)])
    by_head = W_O.unflatten(2, (lm.n_heads, lm.d_head))  # (layer, d_model, head, d_head)
    heads = torch.einsum("lmhd,lhd,im->ilh", by_head, seen.z[:, :, -1], directions)
    return [
        {
            "heads": heads[i].flatten().tolist(),
            "fed": (seen.fed @ direction).tolist(),
            "embedded": float(seen.embedded @ direction),
        }
        for i, direction in enumerate(directions)
    ]


class Answers:
    """A text that is read and written on, with heads off; ``means`` (layer · head, d_head)."""

    def __init__(self, lm: LanguageModel, means: Tensor) -> None:
        self.lm, self.means = lm, means
        self._whole: tuple[str, Tensor] = "", torch.empty(0)

    def read(self, text: str, off: Sequence[int], instead: str) -> dict[str, Any] | None:
        """A text from its beginning; None where it has no token."""
        if not self.lm.tokens(text):
            return None
        if not off or self._whole[0] != text:
            self._take(text, {})
            self._whole = text, self._seen.logits.softmax(dim=-1)
        if off:
            zeros = torch.zeros_like(self.means)
            values = self.means if instead == "mean" else zeros
            self._take(text, {head: values[head] for head in off})
        return self._found()

    def more(self) -> dict[str, Any] | None:
        """One more word, the likeliest; None where the text ends."""
        chosen = int(self._seen.logits.argmax())
        if chosen == self.lm._end:
            return None
        self._ids.append(chosen)
        self._seen = read(self.lm, self._text + self._written(), self._off)
        return self._found()

    def look(self) -> dict[str, Any]:
        """Where all heads look."""
        return packed(self._seen.weights, self.lm.tokens(self._text + self._written()))

    def adds(self) -> list[dict[str, Any]]:
        """What each part of the model adds to each of the words shown."""
        ids = self._likeliest()
        parts = contributions(self.lm, self._seen, ids)
        return [
            {**part, "text": self.lm.vocabulary()[i], "logit": float(self._seen.logits[i])}
            for i, part in zip(ids, parts, strict=True)
        ]

    def _take(self, text: str, off: Mapping[int, Tensor]) -> None:
        self._text, self._off, self._ids = text, off, list[int]()
        self._seen = read(self.lm, text, off)

    def _written(self) -> str:
        return self.lm._tokenizer.text(self._ids)

    def _likeliest(self) -> list[int]:
        found: list[int] = self._seen.logits.topk(SHOWN).indices.tolist()
        return found

    def _found(self) -> dict[str, Any]:
        p, (text, whole) = self._seen.logits.softmax(dim=-1), self._whole
        beside = whole if self._off and text == self._text and not self._ids else None
        vocabulary = self.lm.vocabulary()
        tokens = self.lm.tokens(self._text + self._written())
        per_token = 4 * 2 * self.lm.n_layers * self.lm.n_kv_heads * self.lm.d_head
        return {
            "tokens": tokens,
            "cut": 0,
            "next": [
                {
                    "id": i,
                    "text": vocabulary[i],
                    "p": float(p[i]),
                    "whole": None if beside is None else float(beside[i]),
                }
                for i in self._likeliest()
            ],
            "written": self._written(),
            "cache": per_token * len(tokens),
        }
