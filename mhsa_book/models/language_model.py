"""A language model that can be asked, watched and taken apart, head by head."""

import operator
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any, Protocol

import torch
from torch import Tensor

from mhsa_book.models import fast_attention
from mhsa_book.models.fast_attention import KeysAndValues
from mhsa_book.models.memory import available_bytes
from mhsa_book.transformer.decoder_only import DecoderOnly
from mhsa_lib import masks
from mhsa_lib.cache import kv_cache
from mhsa_lib.tracing.hooks import Hooks
from mhsa_lib.variants.grouped import GroupedQueryAttention


class Tokenizer(Protocol):
    """What a language model needs of a tokenizer; ``BytePairs`` is one."""

    spellings: list[str]
    """One for every id, no two alike."""

    def ids(self, text: str) -> list[int]:
        """Ids of the tokens of a text."""

    def text(self, ids: Sequence[int]) -> str:
        """The text of these tokens."""


class LanguageModel:
    """A language model: it says which token comes next, and every head can be looked at.

    A token is spelled with the space in front of it: " Mary". ``name``, ``n_layers``,
    ``n_heads``, ``n_kv_heads``, ``d_model`` and ``d_head`` describe the model; a text has at
    most ``max_tokens``. All methods that take a text raise ``TypeError`` for anything else, and
    ``ValueError`` for one without tokens, with too many, or with half of a character.

    Parameters
    ----------
    name : what it is called in messages
    decoder : the model itself, in evaluation mode
    tokenizer : its tokens
    max_tokens : the longest text
    end : id of the token with which a text ends; None where there is none

    Examples
    --------
    >>> from mhsa_book import models
    >>> lm = models.load("SmolLM2-135M")
    >>> lm
    SmolLM2-135M: 30 layers of 9 heads, every 3 of which share a KV head
    >>> lm.tokens("The capital of France is")
    ['The', ' capital', ' of', ' France', ' is']
    >>> lm.next("The capital of France is", k=1)[0][0]
    ' Paris'
    >>> lm.generate("The capital of France is", 2)
    ' Paris.'
    >>> tokens, weights = lm.attend("The capital of France is")
    >>> weights.shape  # (layer, head, query, key)
    torch.Size([30, 9, 5, 5])
    """

    def __init__(
        self,
        name: str,
        decoder: DecoderOnly,
        tokenizer: Tokenizer,
        *,
        max_tokens: int,
        end: int | None = None,
    ) -> None:
        self.name, self.max_tokens = name, max_tokens
        self._decoder, self._tokenizer, self._end = decoder, tokenizer, end
        attention: Any = decoder.layers[0].attention
        self.n_layers: int = len(decoder.layers)
        self.n_heads: int = attention.n_heads
        self.n_kv_heads: int = attention.n_kv_heads
        self.d_model: int = attention.d_model
        self.d_head: int = attention.d_head
        self._ids_of = {token: i for i, token in enumerate(tokenizer.spellings)}

    def __repr__(self) -> str:
        group = self.n_heads // self.n_kv_heads
        shared = "" if group == 1 else f", every {group} of which share a KV head"
        return f"{self.name}: {self.n_layers} layers of {self.n_heads} heads{shared}"

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text, as they are spelled; a text without any gives none.

        Joined they are the text again, but for characters that are cut into bytes: those of
        such a token are written out, as in "<0xF0><0x9F>".
        """
        return self._spelled(self._read(text))

    def ids(self, text: str) -> list[int]:
        """The places of the tokens of a text in the vocabulary."""
        return self._read(text)

    def id(self, token: str) -> int:
        """The place of one token in the vocabulary; ``ValueError`` for what is no token."""
        if token not in self._ids_of:
            cut = self.tokens(token)
            raise ValueError(
                f"{token!r} is no token of {self.name}, which reads {cut}; pass one token, "
                f"with the space in front of it, as tokens() spells it."
            )
        return self._ids_of[token]

    def vocabulary(self) -> list[str]:
        """Every token, as it is spelled, in the order of the ids."""
        return [*self._tokenizer.spellings]

    @torch.no_grad()
    def logits(self, text: str) -> Tensor:
        """What comes after each token of the text: logits (token, vocabulary)."""
        return self._decoder.unembed(self._stream(self._begun(text)))[0]

    @torch.no_grad()
    def next(self, text: str, k: int = 5) -> list[tuple[str, float]]:
        """The ``k`` likeliest next tokens and their probabilities, the likeliest first."""
        if not 1 <= operator.index(k) <= len(self._ids_of):
            raise ValueError(f"k={k} tokens; there are 1 to {len(self._ids_of)} of them.")
        last = self._stream(self._begun(text))[0, -1]
        most = self._decoder.unembed(last).softmax(dim=-1).topk(k)
        tokens = self._spelled(most.indices.tolist())
        return [*zip(tokens, most.values.tolist(), strict=True)]

    @torch.no_grad()
    def attend(self, text: str) -> tuple[list[str], Tensor]:
        """Tokens of the text and every head's weights (layer, head, query, key).

        Raises ``MemoryError`` for a text that is so long that they do not fit.
        """
        ids = self._begun(text)
        self._check_room_for_weights(len(ids))
        found: list[Tensor] = []
        with Hooks(self._decoder) as hooks:
            for layer in self._layers():
                hooks.after(
                    layer.attention.attend.weights,
                    lambda module, args, weights: found.append(weights[0]),
                )
            self._stream(ids)
        return self._spelled(ids), torch.stack(found)

    @torch.no_grad()
    def generate(self, text: str, n: int, cache: bool = True) -> str:
        """Write on, ``n`` tokens or up to the end of the text, always with the likeliest token.

        Returns the new text. With ``cache`` every step reads one token and remembers keys and
        values of all others; without, it reads the whole text again. The tokens are the same.
        """
        if operator.index(n) < 1:
            raise ValueError(f"n={n} tokens; write at least 1.")
        ids = self._begun(text, n)
        # With a cache the first pass reads the text, and each one after it the last token.
        new: list[int] = []
        with ExitStack() as stack:
            past = self._remembering(stack, len(ids) + n) if cache else None
            while len(new) < n:
                first = len(ids) + len(new) - 1 if cache and new else 0
                stream = self._stream([*ids, *new][first:], past, first)
                chosen = int(self._decoder.unembed(stream[0, -1]).argmax())
                if chosen == self._end:
                    break
                new.append(chosen)
        return self._tokenizer.text(new)

    def attention(self, layer: int) -> GroupedQueryAttention:
        """The attention of a layer in our five stages: the model's own, not a copy.

        What ``trace`` sees and ``edit`` changes in it, and what is done to its weights, is seen
        and changed in the model.
        """
        return self._layer(layer).attention

    # --- one pass ------------------------------------------------------------------------

    def _stream(
        self, ids: Sequence[int], past: KeysAndValues | None = None, first: int = 0
    ) -> Tensor:
        """The stream behind the last layer, (1, token, d_model), for ids from ``first`` on."""
        x = self._decoder.embed(torch.tensor([[*ids]], device=self._device))
        angles = fast_attention.rotation(self.attention(0), first, len(ids), x)
        for index, layer in enumerate(self._layers()):
            attention, normed = layer.attention, layer.attention_norm(x)
            if fast_attention.is_plain(attention):
                of_layer = None if past is None else past.of_layer[index]
                x = x + fast_attention.attend(attention, normed, angles, of_layer, first)
            else:
                x = x + attention(normed, mask=masks.causal)
            x = x + layer.feed_forward(layer.feed_forward_norm(x))
        return x

    def _remembering(self, stack: ExitStack, n_tokens: int) -> KeysAndValues:
        """Room for keys and values; attentions that are watched remember by themselves."""
        for layer in self._layers():
            if not fast_attention.is_plain(layer.attention):
                stack.enter_context(kv_cache(layer.attention))
        return KeysAndValues(self._decoder, n_tokens)

    # --- what is given -------------------------------------------------------------------

    @property
    def _device(self) -> torch.device:
        return self._decoder.embed.weight.device

    def _read(self, text: str) -> list[int]:
        if not isinstance(text, str):
            raise TypeError(f"text is a {type(text).__name__}; pass one string.")
        return self._tokenizer.ids(text)

    def _begun(self, text: str, n_more: int = 0) -> list[int]:
        """Ids of a text with which a pass begins, and ``n_more`` tokens behind it."""
        ids = self._read(text)
        if not ids:
            raise ValueError(f"text {text!r} has no tokens; write at least one letter.")
        if len(ids) + n_more > self.max_tokens:
            behind = f" and {n_more} new ones" if n_more else ""
            raise ValueError(
                f"text has {len(ids)} tokens{behind}, {self.name} reads at most "
                f"{self.max_tokens}; shorten it."
            )
        return ids

    def _spelled(self, ids: Sequence[int]) -> list[str]:
        return [self._tokenizer.spellings[i] for i in ids]

    def _layers(self) -> Iterator[Any]:
        return iter(self._decoder.layers)

    def _layer(self, layer: int) -> Any:
        if isinstance(layer, bool) or not isinstance(layer, int):
            raise TypeError(f"layer={layer!r} is not a whole number.")
        if not 0 <= layer < self.n_layers:
            raise ValueError(
                f"layer={layer} does not exist; {self.name} has 0 to {self.n_layers - 1}."
            )
        return self._decoder.layers[layer]

    def _check_room_for_weights(self, n_tokens: int) -> None:
        n_heads = self.n_layers * self.n_heads
        needed, available = 2 * 4 * n_heads * n_tokens**2, available_bytes()
        if available is not None and needed > available:
            raise MemoryError(
                f"the weights of {n_heads} heads for {n_tokens:,} tokens need "
                f"{needed / 1e9:.1f} GB, and {available / 1e9:.1f} GB are available; shorten "
                f"the text, or trace one attention, lm.attention(layer)."
            )
