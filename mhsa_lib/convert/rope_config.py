"""Rotary positions as the configuration of a Hugging Face model describes them.

Configurations changed over time. Both names of the kind are read (``rope_type``, ``type``),
both places (``rope_parameters``; before transformers 5 ``rope_scaling`` with ``rope_theta``
next to it) and, where kinds of layers differ, those of one kind.
"""

import math
import sys
from collections.abc import Callable
from copy import deepcopy
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from mhsa_lib.convert.source import MODELS
from mhsa_lib.convert.verification import additive
from mhsa_lib.rope.rotary import Pairing, PartialRotary, Rotary
from mhsa_lib.rope.scaling import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    PartialScaling,
    YarnScaling,
    yarn_magnitude,
)

Scaling = Callable[..., Tensor] | None


def rotary(
    config: Any,
    width: int,
    pairing: Pairing,
    *,
    layer_type: str | None = None,
    partial: bool = False,
) -> Rotary:
    """Return the rotation of ``width`` features of a head as ``config`` says.

    ``layer_type`` chooses, where there are several. ``partial`` says that the source can rotate
    a part of a head. Raises ``ValueError`` for a kind that is not known.

    >>> import types
    >>> config = types.SimpleNamespace(rope_theta=100.0, max_position_embeddings=64)
    >>> config.rope_scaling = {"type": "linear", "factor": 4.0}
    >>> from mhsa_lib.rope import HALVES
    >>> rotary(config, 8, HALVES)
    Rotary(8, base=100, pairing=halves, scaling=LinearScaling(factor=4.0))
    """
    rope = _parameters(config, layer_type)
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind not in _SCALINGS:
        raise ValueError(
            f"rotary positions of kind {kind!r} are not converted; {', '.join(_SCALINGS)} are. "
            f"Copy the weights into a GroupedQueryAttention with a RotarySplit of your own."
        )
    share = rope["partial_rotary_factor"]
    rotated = width if kind == "proportional" else int(width * share)
    if rotated < width and not partial:
        raise ValueError(
            f"partial_rotary_factor={share} turns only a part of every head, which this "
            f"attention does not do; set it to 1.0, which turns all of it."
        )
    try:
        scaling = _SCALINGS[kind](rope, width)
    except KeyError as error:
        raise ValueError(
            f"rotary positions of kind {kind!r} need {error}, which the configuration lacks; "
            f"add it to its rope_parameters."
        ) from error
    made = Rotary if rotated == width else PartialRotary
    return made(rotated, float(rope["rope_theta"]), pairing, scaling)


def run_with_rotation(
    source: Any, x: Tensor, context: Tensor, allowed: Tensor | None
) -> Tensor:
    """Return what a Hugging Face attention with rotary positions computes, from position 0.

    The rotation is made by the class that the library keeps next to that of the attention, so
    our reading of the configuration is compared too.
    """
    home = next(b.__module__ for b in type(source).__mro__ if b.__module__.startswith(MODELS))
    beside = vars(sys.modules[home])
    (kind,) = (k for name, k in beside.items() if name.endswith("RotaryEmbedding"))
    config = deepcopy(source.config)
    local = getattr(config, "rope_local_base_freq", None)
    before_5 = getattr(config, "rope_parameters", None) is None
    if local is not None and before_5 and getattr(source, "is_sliding", False):  # Gemma 3
        config.rope_theta, config.rope_scaling = local, None
    rotation = kind(config).to(x.device)
    options = {}
    if "layer_type" in signature(rotation.forward).parameters:
        options = {"layer_type": getattr(source, "layer_type", None)}
    positions = torch.arange(x.shape[-2], device=x.device)[None]
    rotations = rotation(x, positions, **options)
    mask = additive(allowed, x.dtype)
    return source(x, position_embeddings=rotations, attention_mask=mask)[0]


def _parameters(config: Any, layer_type: str | None) -> dict[str, Any]:
    """Return what the configuration says about one kind of layer, in today's form.

    Three entries are ours: ``longest`` is the longest text, ``trained`` that of training, and
    ``stretch`` how many times longer a text may be, by default the ratio of the two.
    """
    rope = getattr(config, "rope_parameters", None)
    length = getattr(config, "original_max_position_embeddings", None)
    if rope is None:
        rope = _before_5(config, layer_type, length)
    elif layer_type in rope:
        # They look for ``truncate`` next to the kinds of layers only.
        rope = {**(rope[layer_type] or {}), "truncate": rope.get("truncate", True)}
    elif length is not None:
        rope = {**rope, "original_max_position_embeddings": length}
    theta = rope.get("rope_theta")
    if theta is None:
        theta = getattr(config, "rope_theta", None) or getattr(config, "default_theta", None)
    if not isinstance(theta, (int, float)):
        raise ValueError(
            f"the configuration names no rope_theta for {layer_type or 'this layer'}; set "
            f"rope_parameters['rope_theta']."
        )
    longest, factor = config.max_position_embeddings, rope.get("factor")
    trained = rope.get("original_max_position_embeddings") or longest
    share = rope.get("partial_rotary_factor") or 1.0
    stretch = longest / trained if factor is None else float(factor)
    own = {"longest": longest, "trained": trained, "stretch": stretch}
    return {**rope, "rope_theta": theta, "partial_rotary_factor": share, **own}


def _before_5(config: Any, layer_type: str | None, length: int | None) -> dict[str, Any]:
    """Return the same from ``rope_scaling`` and what is next to it."""
    local = getattr(config, "rope_local_base_freq", None)
    if layer_type == "sliding_attention" and local is not None:
        return {"rope_theta": local}
    rope = {"rope_theta": config.rope_theta, **(getattr(config, "rope_scaling", None) or {})}
    rope.setdefault("partial_rotary_factor", getattr(config, "partial_rotary_factor", 1.0))
    if "longrope" in (rope.get("rope_type"), rope.get("type")):
        # There the attribute decides about the factor too, and the entry is not read.
        rope["original_max_position_embeddings"] = length or config.max_position_embeddings
        rope["factor"] = None if length else rope.get("factor")
    return rope


def _proportional(rope: dict[str, Any], width: int) -> Scaling:
    pairs = int(rope["partial_rotary_factor"] * width // 2)
    return PartialScaling(pairs, float(rope.get("factor", 1.0)))


def _llama3(rope: dict[str, Any], width: int) -> Scaling:
    names = "factor", "low_freq_factor", "high_freq_factor"
    factor, low, high = (float(rope[name]) for name in names)
    return Llama3Scaling(factor, low, high, rope["trained"])


def _yarn(rope: dict[str, Any], width: int) -> Scaling:
    factor, magnitude = rope["stretch"], rope.get("attention_factor")
    above, below = rope.get("mscale"), rope.get("mscale_all_dim")
    if magnitude is None and above and below:
        magnitude = yarn_magnitude(factor, above) / yarn_magnitude(factor, below)
    fast, slow = float(rope.get("beta_fast") or 32), float(rope.get("beta_slow") or 1)
    base, truncate = float(rope["rope_theta"]), rope.get("truncate", True)
    return YarnScaling(factor, base, rope["trained"], fast, slow, truncate, magnitude)


def _longrope(rope: dict[str, Any], width: int) -> Scaling:
    factor, magnitude = rope["stretch"], rope.get("attention_factor")
    if magnitude is None:
        growth = math.log(factor) / math.log(rope["trained"]) if factor > 1 else 0.0
        magnitude = math.sqrt(1 + growth)
    short, long = (tuple(map(float, rope[name])) for name in ("short_factor", "long_factor"))
    return LongRopeScaling(short, long, rope["trained"], magnitude)


_SCALINGS: dict[str, Callable[[dict[str, Any], int], Scaling]] = {
    "default": lambda rope, width: None,
    "linear": lambda rope, width: LinearScaling(float(rope["factor"])),
    "proportional": _proportional,
    "dynamic": lambda rope, width: DynamicScaling(float(rope["factor"]), rope["longest"]),
    "llama3": _llama3,
    "yarn": _yarn,
    "longrope": _longrope,
}
