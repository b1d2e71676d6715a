"""Classes of transformers, configured at random sizes."""

import importlib
from functools import cache
from typing import Any

from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import Skipped


@cache
def classes(name: str) -> tuple[type, type, Any]:
    """The attention, its configuration and its rotary embedding, if it has one."""
    folder, prefix = name.split(":")
    module = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    configurations = importlib.import_module(
        f"transformers.models.{folder}.configuration_{folder}"
    )
    names = [
        n for n in vars(configurations) if n.endswith("Config") and n != "PreTrainedConfig"
    ]
    own = [n for n in names if n in (f"{prefix}Config", f"{prefix.removesuffix('GPT2')}Config")]
    config = getattr(configurations, (own or names)[0])
    return (
        getattr(module, f"{prefix}Attention"),
        config,
        getattr(module, f"{prefix}RotaryEmbedding", None),
    )


def drawn_config(draw: Draw, kind: type, **extra: Any) -> Any:
    n_heads, d_head = draw.whole(1, 4), draw.one((2, 4, 6))
    sizes = {
        "hidden_size": n_heads * d_head,
        "num_attention_heads": n_heads,
        "num_hidden_layers": 3,
        "intermediate_size": 16,
        "vocab_size": 20,
        "max_position_embeddings": 64,
    }
    draw.note(config=sizes | extra)
    config = kind(**(sizes | extra))
    config._attn_implementation = draw.one(("eager", "sdpa"))
    return config


def built(name: str, attention: type, *options: tuple[Any, ...]) -> Any:
    for args in options:
        try:
            return attention(*args)
        except (TypeError, AttributeError, ValueError, AssertionError):
            continue
    raise Skipped(f"{name} takes other arguments")
