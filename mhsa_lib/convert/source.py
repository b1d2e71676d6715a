"""A Hugging Face attention as a conversion meets it: its class, its parts, its positions.

Read of rotary positions are both names of their kind (``rope_type``, ``type``), both places
(``rope_parameters``; before transformers 5 ``rope_scaling`` with ``rope_theta`` beside it) and,
where kinds of layers differ, those of one kind. What they work out, we work out alike.
"""

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from mhsa_lib.accept import kinds, known
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

Stretch = Callable[..., Tensor] | None

MODELS = "transformers.models."
_STOCK = {None, "eager", "sdpa", "flex_attention", *(f"flash_attention_{n}" for n in (2, 3, 4))}
_STOCK |= {f"kernels-community/{k}" for k in ("flash-attn2", "vllm-flash-attn3", "flash-attn4")}


def checked(source: Any, table: Mapping[str, kinds.Kinds], why: str) -> str:
    """The name of the class whose forward a source has; refused is what it may not have.

    ``table`` names classes below ``transformers.models`` and what stands at the paths of each.

    >>> table = {"llama.modeling_llama.LlamaAttention": {}}
    >>> from torch import nn
    >>> checked(nn.ReLU(), table, "is not converted")
    Traceback (most recent call last):
    ...
    TypeError: ReLU is not converted; only LlamaAttention is known there: pass ...
    """
    bases = {f"{base.__module__}.{base.__qualname__}" for base in type(source).__mro__}
    named = [name for name in table if MODELS + name in bases]
    classes = tuple(MODELS + name for name in named or table)
    parts = table[named[0]] if named else {}
    known.only(source, {**parts, "": classes}, why, known.ITSELF)
    stock(source.config)
    return named[0].rpartition(".")[2]


def stock(config: Any) -> None:
    """The configuration of a Hugging Face model names a way to attend that is the library's.

    So is what the library has under that name: a way of one's own may be registered there.

    >>> import types
    >>> stock(types.SimpleNamespace(_attn_implementation="mine"))
    Traceback (most recent call last):
    ...
    ValueError: _attn_implementation='mine' is not a way to attend of the library's ...
    """
    name = getattr(config, "_attn_implementation", None)
    models = sys.modules.get("transformers.modeling_utils")
    registered = getattr(models, "ALL_ATTENTION_FUNCTIONS", {}).get(name)
    written = getattr(registered, "__module__", "transformers")
    if name not in _STOCK or written.partition(".")[0] != "transformers":
        raise ValueError(
            f"_attn_implementation={name!r} is not a way to attend of the library's own; set "
            f"config._attn_implementation='eager' if it computes the same."
        )


def rotary(
    config: Any,
    width: int,
    pairing: Pairing,
    *,
    layer_type: str | None = None,
    partial: bool = False,
) -> Rotary:
    """What turns ``width`` columns of a head as ``config`` says.

    ``layer_type`` chooses, where there are several. ``partial`` says that the source can turn a
    part of a head. Raises ``ValueError`` for a kind that is not known.

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
        known_kinds = ", ".join(_SCALINGS)
        raise ValueError(
            f"rotary positions of kind {kind!r} are not converted; {known_kinds} are. "
            f"Copy the weights into a GroupedQueryAttention with a RotarySplit of your own."
        )
    base, share = float(rope["rope_theta"]), rope.get("partial_rotary_factor") or 1.0
    turned = width if kind == "proportional" else int(width * share)
    if turned < width and not partial:
        raise ValueError(
            f"partial_rotary_factor={share} turns only a part of every head, which this "
            f"attention does not do; set it to 1.0, which turns all of it."
        )
    try:
        scaling = _SCALINGS[kind](rope, config, width)
    except KeyError as error:
        raise ValueError(
            f"rotary positions of kind {kind!r} need {error}, which the configuration lacks; "
            f"add it to its rope_parameters."
        ) from error
    made = Rotary if turned == width else PartialRotary
    return made(turned, base, pairing, scaling)


def _parameters(config: Any, layer_type: str | None) -> dict[str, Any]:
    """What the configuration says about one kind of layer, in today's form."""
    rope = getattr(config, "rope_parameters", None)
    length = getattr(config, "original_max_position_embeddings", None)
    if rope is None:
        rope = _before_5(config, layer_type, length)
    elif layer_type in rope:
        # They look for ``truncate`` beside the kinds of layers only.
        rope = {**(rope[layer_type] or {}), "truncate": rope.get("truncate", True)}
    elif length is not None:
        rope = {**rope, "original_max_position_embeddings": length}
    if rope.get("rope_theta") is None:
        default = getattr(config, "default_theta", None)
        rope = {**rope, "rope_theta": getattr(config, "rope_theta", None) or default}
    if not isinstance(rope["rope_theta"], (int, float)):
        raise ValueError(
            f"the configuration names no rope_theta for {layer_type or 'this layer'}; set "
            f"rope_parameters['rope_theta']."
        )
    return rope


def _before_5(config: Any, layer_type: str | None, length: int | None) -> dict[str, Any]:
    """From ``rope_scaling`` and what stands beside it."""
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


def _trained(rope: dict[str, Any], config: Any) -> int:
    """Tokens of a text in training."""
    return rope.get("original_max_position_embeddings") or config.max_position_embeddings


def _factor(rope: dict[str, Any], config: Any) -> float:
    """How many times longer a text may be."""
    given = rope.get("factor")
    if given is None:
        return config.max_position_embeddings / _trained(rope, config)
    return float(given)


def _proportional(rope: dict[str, Any], config: Any, width: int) -> Stretch:
    share = rope.get("partial_rotary_factor", 1.0)
    return PartialScaling(int(share * width // 2), float(rope.get("factor", 1.0)))


def _dynamic(rope: dict[str, Any], config: Any, width: int) -> Stretch:
    return DynamicScaling(float(rope["factor"]), config.max_position_embeddings)


def _llama3(rope: dict[str, Any], config: Any, width: int) -> Stretch:
    names = "factor", "low_freq_factor", "high_freq_factor"
    factor, low, high = (float(rope[name]) for name in names)
    return Llama3Scaling(factor, low, high, _trained(rope, config))


def _yarn(rope: dict[str, Any], config: Any, width: int) -> Stretch:
    factor, magnitude = _factor(rope, config), rope.get("attention_factor")
    above, below = rope.get("mscale"), rope.get("mscale_all_dim")
    if magnitude is None and above and below:
        magnitude = yarn_magnitude(factor, above) / yarn_magnitude(factor, below)
    return YarnScaling(
        factor,
        float(rope["rope_theta"]),
        _trained(rope, config),
        float(rope.get("beta_fast") or 32),
        float(rope.get("beta_slow") or 1),
        rope.get("truncate", True),
        magnitude,
    )


def _longrope(rope: dict[str, Any], config: Any, width: int) -> Stretch:
    length, magnitude = _trained(rope, config), rope.get("attention_factor")
    if magnitude is None:
        factor = _factor(rope, config)
        magnitude = math.sqrt(1 + math.log(factor) / math.log(length)) if factor > 1 else 1.0
    short, long = (tuple(map(float, rope[name])) for name in ("short_factor", "long_factor"))
    return LongRopeScaling(short, long, length, magnitude)


_SCALINGS: dict[str, Callable[[dict[str, Any], Any, int], Stretch]] = {
    "default": lambda rope, config, width: None,
    "linear": lambda rope, config, width: LinearScaling(float(rope["factor"])),
    "proportional": _proportional,
    "dynamic": _dynamic,
    "llama3": _llama3,
    "yarn": _yarn,
    "longrope": _longrope,
}
