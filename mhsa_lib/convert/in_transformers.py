"""Our attentions inside a model of transformers, which keeps its masks, positions and cache."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

from torch import Tensor, nn

from mhsa_lib import masks
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.convert.llama import CLASSES, from_llama, to_llama
from mhsa_lib.execution_mode import is_recording
from mhsa_lib.stages import stages_of
from mhsa_lib.tracing.hooks import Hooks


class InTransformers(nn.Module):
    """An attention of ours, called and answering as ``LlamaAttention`` does.

    Positions and mask come from the model, and keys and values stay in its cache, so that
    ``generate`` works as before, with beams or padding too. ``trace`` and ``edit`` see wires
    with the tokens of the cache. No weights are returned: look at the wire ``weights``.
    ``attention`` may be replaced at any time, by a pruned one for example.

    Parameters
    ----------
    attention : what computes; keys and values of later tokens must come from its ``split``
    layer_idx : which layer of the model's cache is its own
    is_causal : what no mask means: the future is hidden, or nothing is
    source : called without arguments, makes a module of the class that was here before
    """

    def __init__(
        self,
        attention: Any,
        layer_idx: int,
        *,
        is_causal: bool = True,
        source: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__()
        self.attention, self.layer_idx = attention, layer_idx
        self.is_causal, self.source = is_causal, source
        self.train(attention.training)

    def forward(
        self,
        hidden_states: Tensor,
        position_embeddings: Any = None,
        attention_mask: Any = None,
        past_key_values: Any = None,
        position_ids: Tensor | None = None,
        **_: Any,
    ) -> tuple[Tensor, None]:
        """Return y (batch, query, d_model), and None where theirs has weights.

        ``position_embeddings`` are not read: ours rotates by itself, by ``position_ids``.
        """
        attention, split = self.attention, self.attention.split
        cached = [wire for stage in stages_of(attention).values() for wire in stage.cached]
        if past_key_values is not None and (cached != [*split.cached] or len(cached) != 2):
            raise TypeError(
                f"a cache of transformers holds keys and values, but "
                f"{type(attention).__name__} keeps {cached} for later tokens; pass "
                f"use_cache=False, or use mhsa_lib.kv_cache."
            )
        positions = {}
        if "positions" in signature(split.forward).parameters:
            if position_ids is None and past_key_values is not None:
                raise ValueError(
                    f"position_ids is None, but {type(split).__name__} rotates by positions, "
                    f"and with a cache they are not counted from 0; pass those of the tokens."
                )
            positions = {"positions": position_ids}

        def place(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
            return args, kwargs | positions

        def extend(stage: nn.Module, args: Any, output: Any) -> Any:
            q, k, v = output
            if past_key_values is not None:
                k, v = past_key_values.update(k, v, self.layer_idx)
            # A static cache returns room for later tokens too. No mask for several queries
            # means there that they are the first, so no key behind them is seen.
            if attention_mask is None and self.is_causal and q.shape[-2] > 1:
                k, v = k[..., : q.shape[-2], :], v[..., : q.shape[-2], :]
            return q, k, v

        mask = self._allowed(attention_mask)
        if is_recording():  # no hook is heard there, so nobody listens either
            if type(attention).forward is not MultiHeadAttention.forward:
                raise TypeError(
                    f"{type(attention).__name__} has a forward of its own, which cannot be "
                    f"compiled here; run the model without torch.compile."
                )
            q, k, v = attention.project(hidden_states, hidden_states)
            q, k, v = extend(split, (), split(q, k, v, **positions))
            return attention.W_O(attention.concat(attention.attend(q, k, v, mask))), None
        # The call goes through the attention itself, or its wire y would have no listeners.
        with Hooks(attention) as hooks:
            hooks.before(split, place, first=True)
            hooks.after(split, extend, first=True)
            return attention(hidden_states, mask=mask), None

    def _allowed(self, mask: Any) -> Any:
        if mask is None:
            return masks.causal if self.is_causal else None
        if not isinstance(mask, Tensor) or mask.ndim != 4:
            given = tuple(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
            raise ValueError(
                f"attention_mask is {given}, not (batch, 1, query, key); call "
                f'model.set_attn_implementation("sdpa"), whose masks have this form.'
            )
        return masks.from_additive(mask) if mask.is_floating_point() else mask


def replace_attentions(
    model: nn.Module, make: Callable[[Any], Any] = from_llama
) -> dict[str, Any]:
    """Put ours in the place of every attention of a model, and return them by their paths.

    Replaced are the classes that ``from_llama`` knows; ``make`` is given each of them and
    returns ours. The model then computes the same, ``generate`` with its cache included, and
    each attention can be traced, edited, replaced or fine-tuned; ``restore_attentions`` is the
    way back. Nothing is replaced if one cannot be converted.

    Raises ``ValueError`` for a model without such an attention, and as ``make`` does.
    """
    made = {}
    for path, module in model.named_modules():
        if f"{type(module).__module__}.{type(module).__qualname__}" in CLASSES:
            made[path] = InTransformers(
                make(module),
                module.layer_idx,
                is_causal=module.is_causal,
                source=partial(type(module), module.config, module.layer_idx),
            )
    if not made:
        known = ", ".join(name.rpartition(".")[2] for name in CLASSES)
        raise ValueError(
            f"{type(model).__name__} has no attention that can be replaced; known are {known}."
        )
    for path, module in made.items():
        model.set_submodule(path, module)
    return {path: module.attention for path, module in made.items()}


def restore_attentions(model: nn.Module) -> None:
    """Put attentions of transformers in the place of ours again, with the weights of ours.

    Undoes ``replace_attentions`` and keeps what was learned or edited, so that the model can be
    saved and loaded without this library. Raises as ``to_llama`` does, and ``ValueError`` for a
    model that holds none of ours; then nothing is restored.
    """
    made = {}
    for path, module in model.named_modules():
        if isinstance(module, InTransformers) and module.source is not None:
            like, into = next(module.parameters()), module.source()
            made[path] = to_llama(module.attention, into.to(like).train(module.training))
    if not made:
        raise ValueError(
            f"{type(model).__name__} holds no attention of replace_attentions; pass the model "
            f"that was given to it."
        )
    for path, module in made.items():
        model.set_submodule(path, module)
