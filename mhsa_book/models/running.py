"""One pass through a decoder: fast where nobody looks, in five stages where somebody does."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_book.models import fast_attention
from mhsa_book.models.fast_attention import KeysAndValues
from mhsa_book.transformer.decoder_only import DecoderOnly
from mhsa_lib import masks
from mhsa_lib.cache import kv_cache
from mhsa_lib.tracing.hooks import Hooks

AT_ONCE = 16
"""Texts of one length in a pass, at most: more are no faster, and need more memory."""


class Runner:
    """Runs a decoder over one text; attentions of a reader's own may stand in for ours.

    ``replaced`` holds these, by their layers. ``first`` is the position of the first token of
    the pass that is running. But for ``heads_of``, all of it is for one text at a time; nothing
    keeps gradients.
    """

    def __init__(self, decoder: DecoderOnly) -> None:
        self.decoder = decoder
        self.layers: list[Any] = [*decoder.layers]
        self.replaced: dict[int, Any] = {}
        self.first = 0
        self._read: dict[int, Tensor] = {}

    def stream(
        self, ids: Sequence[int], past: KeysAndValues | None = None, first: int = 0
    ) -> Tensor:
        """The stream behind the last layer, (1, token, d_model), for ids from ``first`` on."""
        return self._through(self.layers, self.embedded([ids]), past, first)

    @torch.no_grad()
    def _through(
        self, layers: Sequence[Any], x: Tensor, past: KeysAndValues | None, first: int
    ) -> Tensor:
        self.first = first
        angles = fast_attention.rotation(layers[0].attention, first, x.shape[1], x)
        plain = self._plain() if past is None else past.is_plain
        for index, layer in enumerate(layers):
            attention, normed = layer.attention, layer.attention_norm(x)
            if index in self.replaced:
                x = x + self._by_the_reader(index, normed, past is not None)
            elif plain[index]:
                of_layer = None if past is None else past.of_layer[index]
                x = x + fast_attention.attend(attention, normed, angles, of_layer, first)
            else:
                x = x + attention(normed, mask=masks.causal)
            x = x + layer.feed_forward(layer.feed_forward_norm(x))
        return x

    @torch.no_grad()
    def embedded(self, texts: Sequence[Sequence[int]]) -> Tensor:
        """The stream in front of the first layer, (text, token, d_model), of one length."""
        table = self.decoder.embed
        ids = torch.tensor([[*ids] for ids in texts], device=table.weight.device)
        found: Tensor = table(ids)
        return found

    def heads(self, ids: Sequence[int]) -> Tensor:
        """What every head found in a text: its z, as (layer, head, query, d_head)."""
        with self.listening("attend") as found:
            self.stream(ids)
        return torch.cat(found)

    def heads_of(
        self, texts: Sequence[Sequence[int]], layers: Sequence[int], path: str = "attend"
    ) -> dict[int, list[Tensor]]:
        """The z of some layers: by layer, for every text, (head, query, d_head).

        Where ``path`` is that of another part of the attention, what this returns instead.
        Texts of one length are read in one pass, which ends with the last of the layers.
        """
        layers = sorted({*layers})
        by_length: dict[int, list[int]] = {}
        for i, ids in enumerate(texts):
            by_length.setdefault(len(ids), []).append(i)
        of_text: dict[int, tuple[Tensor, ...]] = {}
        for alike in by_length.values() if layers else ():
            for start in range(0, len(alike), AT_ONCE):
                few = alike[start : start + AT_ONCE]
                with self.listening(path, layers) as found:
                    x = self.embedded([texts[i] for i in few])
                    self._through(self.layers[: layers[-1] + 1], x, None, 0)
                of_text |= zip(few, zip(*found, strict=True), strict=True)
        return {
            layer: [of_text[i][n] for i in range(len(texts))] for n, layer in enumerate(layers)
        }

    @contextmanager
    def listening(
        self, path: str, layers: Sequence[int] | None = None
    ) -> Iterator[list[Tensor]]:
        """Collect what a part of every attention returns, or of some, layer by layer."""
        found: list[Tensor] = []
        chosen = self.layers if layers is None else [self.layers[i] for i in layers]
        with Hooks(self.decoder) as hooks:
            for layer in chosen:
                part = layer.attention.get_submodule(path)
                hooks.after(part, lambda module, args, output: found.append(output))
            yield found

    @contextmanager
    def remembering(self, n_tokens: int) -> Iterator[KeysAndValues]:
        """Room for keys and values; attentions that are watched remember by themselves.

        Raises ``ValueError`` for an attention of a reader's own that cannot go on with a text.
        """
        for index, module in self.replaced.items():
            if not _takes_positions(module):
                raise ValueError(
                    f"layer {index} is {_name(module)}, which takes no positions, so it cannot "
                    f"go on behind a cache; pass cache=False, or write forward(self, x, mask, "
                    f"positions=None) so that it keeps the keys and values of earlier calls."
                )
        plain = self._plain()
        with ExitStack() as stack:
            for index, layer in enumerate(self.layers):
                if index not in self.replaced and not plain[index]:
                    stack.enter_context(kv_cache(layer.attention))
            yield KeysAndValues(self.decoder, n_tokens, plain)

    def _plain(self) -> list[bool]:
        return [fast_attention.is_plain(layer.attention) for layer in self.layers]

    def _by_the_reader(self, index: int, x: Tensor, cached: bool) -> Tensor:
        y = self._called(index, x, self.first)
        if not cached:
            return y
        if self.first == 0:
            self._read[index] = x
        elif index in self._read:
            # Once in every text: a module that forgets earlier tokens would write nonsense.
            whole = torch.cat([self._read.pop(index), x], dim=-2)
            expected = self._called(index, whole, 0)[:, -1:]
            if not torch.allclose(y, expected, atol=1e-3 * float(expected.abs().max())):
                raise ValueError(
                    f"layer {index}: {_name(self.replaced[index])} gives position "
                    f"{self.first} another output behind a cache than in one pass over all "
                    f"{self.first + 1} tokens; it has to keep the keys and values of earlier "
                    f"calls, and to forget them where positions begin with 0 (or pass "
                    f"cache=False)."
                )
        return y

    def _called(self, index: int, x: Tensor, first: int) -> Tensor:
        module, n = self.replaced[index], x.shape[-2]
        mask = torch.ones(n, first + n, dtype=torch.bool, device=x.device).tril(first)
        positions = torch.arange(first, first + n, device=x.device)
        given = {"positions": positions} if _takes_positions(module) else {}
        y = module(x, mask, **given)
        if not isinstance(y, Tensor) or y.shape != x.shape or y.dtype != x.dtype:
            came = f"{tuple(y.shape)} {y.dtype}" if isinstance(y, Tensor) else type(y).__name__
            raise ValueError(
                f"layer {index}: {_name(module)} returned {came} for x {tuple(x.shape)} "
                f"{x.dtype}; return a tensor like x."
            )
        return y


def _takes_positions(module: Any) -> bool:
    called = module.forward if isinstance(module, nn.Module) else module
    return "positions" in signature(called).parameters


def _name(module: Any) -> str:
    return getattr(module, "__name__", type(module).__name__)
