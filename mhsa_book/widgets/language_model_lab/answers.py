"""What the page asks of the language model, answered in Python: the twin of ``answers.js``."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor

from mhsa_book.models.language_model import LanguageModel
from mhsa_book.widgets.packed import packed
from mhsa_lib.tracing.editing import edit

SHOWN = 10
"""Next words that are shown."""


class Answers:
    """A text that is read and written on, with heads off, which are counted through all layers.

    ``means`` (layer · head, d_head) is what stands for a head that is off, where that is not
    zero; ``lm.without`` would measure it again for every question.

    >>> from mhsa_book import models
    >>> from mhsa_book.widgets.language_model_lab import stored
    >>> answers = Answers(models.load("SmolLM2-135M"), stored.means())
    >>> answers.read("The capital of France is", [], "zero")["next"][0]["text"]
    ' Paris'
    """

    def __init__(self, lm: LanguageModel, means: Tensor) -> None:
        self.lm, self.means = lm, means
        self._whole: tuple[str, Tensor] = "", torch.empty(0)

    def read(self, text: str, off: Sequence[int], instead: str) -> dict[str, Any] | None:
        """A text from its beginning; None where it has no token."""
        if not self.lm.tokens(text):
            return None
        if not off or self._whole[0] != text:
            self._take(text, [], instead)
            self._whole = text, self._logits.softmax(dim=-1)
        if off:
            self._take(text, off, instead)
        return self._found()

    def more(self) -> dict[str, Any] | None:
        """One more word, the likeliest; None where the text ends."""
        with self._switched():
            word = self.lm.generate(self._text, 1)
            if word:
                self._text += word
                self._logits = self.lm.logits(self._text)[-1]
        return self._found() if word else None

    def look(self) -> dict[str, Any]:
        """Where all heads look."""
        with self._switched():
            tokens, weights = self.lm.attend(self._text)
        return packed(weights, tokens)

    def adds(self) -> list[dict[str, Any]]:
        """What each part of the model adds to each of the words shown."""
        vocabulary, found = self.lm.vocabulary(), []
        with self._switched():
            for i in self._likeliest():
                parts = self.lm.contributions(self._text, vocabulary[i])
                about = {"text": vocabulary[i], "logit": parts.logit}
                shares = {"heads": parts.heads.flatten().tolist(), "fed": parts.mlps.tolist()}
                found.append({**about, **shares, "embedded": parts.embedding})
        return found

    def _take(self, text: str, off: Sequence[int], instead: str) -> None:
        self._prompt = self._text = text
        self._off = {head: self.means[head] * (instead == "mean") for head in off}
        with self._switched():
            self._logits = self.lm.logits(text)[-1]

    @contextmanager
    def _switched(self) -> Iterator[None]:
        """The heads that are off are off while the block runs."""

        def change(layer: int, z: Tensor) -> Tensor:
            changed = z.clone()
            for head, value in self._off.items():
                if head // self.lm.n_heads == layer:
                    changed[..., head % self.lm.n_heads, :, :] = value
            return changed

        with ExitStack() as stack:
            for layer in {head // self.lm.n_heads for head in self._off}:
                attention = self.lm.attention(layer)
                stack.enter_context(edit(attention, "z", partial(change, layer)))
            yield

    def _likeliest(self) -> list[int]:
        found: list[int] = self._logits.topk(SHOWN).indices.tolist()
        return found

    def _found(self) -> dict[str, Any]:
        vocabulary, p = self.lm.vocabulary(), self._logits.softmax(dim=-1)
        text, whole = self._whole
        beside = whole if self._off and text == self._text else None
        tokens = self.lm.tokens(self._text)
        per_token = 4 * 2 * self.lm.n_layers * self.lm.n_kv_heads * self.lm.d_head
        words = [
            {
                "id": i,
                "text": vocabulary[i],
                "p": float(p[i]),
                "whole": None if beside is None else float(beside[i]),
            }
            for i in self._likeliest()
        ]
        written = self._text.removeprefix(self._prompt)
        seen = {"tokens": tokens, "cut": 0, "next": words, "written": written}
        return {**seen, "cache": per_token * len(tokens)}
