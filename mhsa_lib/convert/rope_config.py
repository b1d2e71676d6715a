"""Rotary positions as the configuration of a Hugging Face model describes them.

Read is the form of transformers 5, ``rope_parameters``, where kinds of layers differ those of
one kind. The library brings older names into it (``standardize_rope_params``).
"""

import sys
from collections.abc import Callable
from copy import deepcopy
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from mhsa_lib.convert.verification import additive
from mhsa_lib.rope.rotary import Pairing, PartialRotary, Rotary
from mhsa_lib.rope.scaling import (
    LinearScaling,
    Llama3Scaling,
    YarnScaling,
    yarn_magnitude,
)


def rotary(
    config: Any,
    width: int,
    pairing: Pairing,
    *,
    layer_type: str | None = None,
) -> Rotary:
    """Return the rotation of ``width`` features of a head as ``config`` says.

    ``layer_type`` chooses, where there are several. Raises ``ValueError`` for a kind that is
    not known, or a number that it needs and the configuration lacks.
    """
    rope = _parameters(config, layer_type)
    kind, rotated = rope["rope_type"], int(width * rope.get("partial_rotary_factor", 1.0))
    try:
        base, scaling = float(rope["rope_theta"]), _scaling(rope)
    except KeyError as error:
        raise ValueError(
            f"rotary positions of kind {kind!r} are not converted without {error}: known are "
            f"default, linear, llama3 and yarn, each with its numbers; complete "
            f"rope_parameters, or copy the weights into a GroupedQueryAttention with a "
            f"RotarySplit of your own."
        ) from error
    made = Rotary if rotated == width else PartialRotary
    return made(rotated, base, pairing, scaling)


def run_with_rotation(
    source: Any, x: Tensor, context: Tensor, allowed: Tensor | None
) -> Tensor:
    """Return what a Hugging Face attention with rotary positions computes, from position 0.

    The rotation is made by the class that the library keeps next to that of the attention, so
    our reading of the configuration is compared too.
    """
    # A subclass that is only shown otherwise lives elsewhere.
    homes = (base.__module__ for base in type(source).__mro__)
    beside = vars(sys.modules[next(m for m in homes if m.startswith("transformers.models"))])
    (kind,) = (k for name, k in beside.items() if name.endswith("RotaryEmbedding"))
    rotation = kind(deepcopy(source.config)).to(x.device)
    options = {}
    if "layer_type" in signature(rotation.forward).parameters:
        options = {"layer_type": getattr(source, "layer_type", None)}
    positions = torch.arange(x.shape[-2], device=x.device)[None]
    rotations = rotation(x, positions, **options)
    mask = additive(allowed, x.dtype)
    return source(x, position_embeddings=rotations, attention_mask=mask)[0]


def _parameters(config: Any, layer_type: str | None) -> dict[str, Any]:
    """Return the numbers that the configuration names for one kind of layer.

    Ours are ``trained``, the longest text of training, and ``stretch``, how much longer.
    """
    if not hasattr(config, "standardize_rope_params"):
        raise ValueError(
            f"{type(config).__name__} has no rope_parameters in the form of transformers 5, "
            f"which is read; install transformers>=5 and load the model again."
        )
    config = deepcopy(config)
    config.standardize_rope_params()
    rope = config.rope_parameters
    if layer_type in rope:
        # They look for ``truncate`` next to the kinds of layers only.
        rope = {**(rope[layer_type] or {}), "truncate": rope.get("truncate", True)}
    rope = {"rope_type": "default"} | {k: v for k, v in rope.items() if v is not None}
    longest = config.max_position_embeddings
    trained = rope.get("original_max_position_embeddings", longest)
    stretch = float(rope.get("factor", longest / trained))
    return {**rope, "trained": trained, "stretch": stretch}


def _scaling(rope: dict[str, Any]) -> Callable[[Tensor], Tensor] | None:
    """Return what the kind of positions does to the frequencies; ``KeyError`` for another."""
    match rope["rope_type"]:
        case "default":
            return None
        case "linear":
            return LinearScaling(float(rope["factor"]))
        case "llama3":
            names = "factor", "low_freq_factor", "high_freq_factor"
            factor, low, high = (float(rope[name]) for name in names)
            return Llama3Scaling(factor, low, high, rope["trained"])
        case "yarn":
            factor, magnitude = rope["stretch"], rope.get("attention_factor")
            above, below = rope.get("mscale"), rope.get("mscale_all_dim")
            if magnitude is None and above and below:
                magnitude = yarn_magnitude(factor, above) / yarn_magnitude(factor, below)
            fast, slow = float(rope.get("beta_fast", 32)), float(rope.get("beta_slow", 1))
            base, truncate = float(rope["rope_theta"]), rope.get("truncate", True)
            return YarnScaling(factor, base, rope["trained"], fast, slow, truncate, magnitude)
        case kind:
            raise KeyError(kind)
