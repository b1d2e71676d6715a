"""Our attentions inside a model of transformers, which keeps its masks, positions and cache."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import _torch_private, masks
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.convert.llama import CLASSES, from_llama, to_llama
from mhsa_lib.execution_mode import has_no_hooks, is_recording
from mhsa_lib.tracing.hooks import Hooks


class InTransformers(nn.Module):
    """An attention of ours, called and answering as ``LlamaAttention`` does.

    Mask and positions come from the model, and keys and values stay in its cache, so that
    ``generate`` works as before. ``trace`` and ``edit`` see wires with the tokens of the cache;
    no weights are returned, look at the wire ``weights``. ``attention`` may be replaced at any
    time, by a pruned one for example.

    Parameters
    ----------
    attention : what computes, in five stages
    source : the module that was here, whose layer of the cache it takes over
    """

    def __init__(self, attention: Any, source: Any) -> None:
        super().__init__()
        self.attention = attention
        self.layer_idx, self.is_causal = source.layer_idx, source.is_causal
        kind: Any = type(source)
        self.make_source = partial(kind, source.config, source.layer_idx)
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
        attention, mask = self.attention, self._allowed(attention_mask)
        if position_ids is None and past_key_values is not None:
            raise ValueError(
                "position_ids is None, but tokens behind a cache are not counted from 0; pass "
                "the positions of the tokens."
            )
        takes = {
            stage: {"positions": position_ids}
            for stage in (attention.project, attention.split)
            if "positions" in signature(stage.forward).parameters
        }

        def place(stage: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
            return args, kwargs | takes[stage]

        def extend(stage: nn.Module, args: Any, output: Any) -> Any:
            q, k, v = output
            if past_key_values is not None:
                k, v = past_key_values.update(k, v, self.layer_idx)
                # Whoever listens may change in place what it is given.
                if _torch_private.forward_hooks(stage)[1:]:
                    k, v = k.clone(), v.clone()
            # A static cache returns room for later tokens too. No mask for several queries
            # means there that they are the first, so no key behind them is seen.
            if attention_mask is None and self.is_causal and q.shape[-2] > 1:
                k, v = k[..., : q.shape[-2], :], v[..., : q.shape[-2], :]
            return q, k, v

        if is_recording():  # no hook is heard there, so nobody listens either
            standard = type(attention).forward is MultiHeadAttention.forward
            if not (standard and has_no_hooks(attention)):
                raise TypeError(
                    f"{type(attention).__name__} has a forward or a hook of its own, which "
                    f"cannot be compiled here; run the model without torch.compile."
                )
            project, split = attention.project, attention.split
            rows = project(hidden_states, hidden_states, **takes.get(project, {}))
            q, k, v = extend(split, (), split(*rows, **takes.get(split, {})))
            return attention.W_O(attention.concat(attention.attend(q, k, v, mask))), None
        # The call goes through the attention itself, or its wire y would have no listeners.
        with Hooks(attention) as hooks:
            for stage in takes:
                hooks.before(stage, place, first=True)
            hooks.after(attention.split, extend, first=True)
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

    Replaced are the classes that ``from_llama`` knows; ``make`` gets each of them and returns
    ours. The model computes the same, with its cache or without, and every attention can be
    traced, edited or trained; ``restore_attentions`` is the way back.

    Raises ``ValueError`` for a model without such an attention, and as ``make`` does; then
    nothing is replaced.
    """
    made = {
        path: InTransformers(make(module), module)
        for path, module in model.named_modules()
        if f"{type(module).__module__}.{type(module).__qualname__}" in CLASSES
    }
    _put(model, made, f"{', '.join(name.rpartition('.')[2] for name in CLASSES)} are known")
    return {path: module.attention for path, module in made.items()}


def restore_attentions(model: nn.Module) -> None:
    """Put attentions of transformers in the place of ours again, with the weights of ours.

    Undoes ``replace_attentions`` and keeps what was learned or edited, so that the model can be
    saved and loaded without this library. Raises as ``to_llama`` does, and ``ValueError`` for a
    model that holds none of ours; then nothing is restored.
    """
    made = {}
    with torch.random.fork_rng(devices=[]):  # what a new module draws is overwritten
        for path, module in model.named_modules():
            if isinstance(module, InTransformers):
                into = module.make_source().to(next(module.parameters()))
                made[path] = to_llama(module.attention, into.train(module.training))
    _put(model, made, "pass the model that was given to replace_attentions")


def _put(model: nn.Module, made: dict[str, Any], known: str) -> None:
    if not made:
        raise ValueError(f"{type(model).__name__} has no attention to exchange; {known}.")
    for path, module in made.items():
        model.set_submodule(path, module)
