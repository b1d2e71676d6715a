"""Every attention class that can be imported, made small, and what it computes itself."""

import importlib
import inspect
import logging
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import models

from mhsa_lib import convert, masks
from tests.helpers.drawn import filled

SIZES = {
    **dict.fromkeys(["hidden_size", "d_model", "n_embd", "embed_dim", "embedding_size"], 12),
    **dict.fromkeys(["num_attention_heads", "n_head", "num_heads", "num_key_value_heads"], 3),
    **dict.fromkeys(["encoder_attention_heads", "decoder_attention_heads"], 3),
    **dict.fromkeys(["qk_nope_head_dim", "v_head_dim", "qk_rope_head_dim", "head_dim"], 4),
    "kv_lora_rank": 6,
    "q_lora_rank": 7,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "attn_implementation": "eager",
}
FEWER = {k: v for k, v in SIZES.items() if k not in ("head_dim", "embed_dim", "d_model")}
LEAST = {"attn_implementation": "eager"}
OTHERS = {"dim": 12, "size": 12, "channels": 12, "head": 3, "idx": 0, "layer": 0}
"""What an argument without a default is, by a part of its name."""


@contextmanager
def quiet() -> Iterator[None]:
    """Other people's warnings are not our subject."""
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


def modules() -> list[str]:
    """Every module of ``transformers.models`` that defines an attention, read, not imported."""
    folder = Path(models.__file__).parent
    return [
        f"transformers.models.{file.parent.name}.{file.stem}"
        for file in sorted(folder.glob("*/modeling_*.py"))
        if re.search(
            r"^class \w*Attention\w*\(", file.read_text(encoding="utf-8"), re.MULTILINE
        )
    ]


def attentions(module: Any) -> list[type[nn.Module]]:
    """The classes that a module defines, with "Attention" in their names."""
    return [
        kind
        for name, kind in vars(module).items()
        if "Attention" in name
        and isinstance(kind, type)
        and issubclass(kind, nn.Module)
        and kind.__module__ == module.__name__
    ]


def below(package: Any) -> Iterator[Any]:
    """All modules of a package that can be imported here."""
    for found in pkgutil.walk_packages(
        package.__path__, package.__name__ + ".", lambda _: None
    ):
        try:
            yield importlib.import_module(found.name)
        except (ImportError, RuntimeError, AttributeError, OSError):
            continue  # something else is not installed that this part of the library needs


def configurations(module: str) -> list[Any]:
    """Small configurations of all kinds that a model's folder defines."""
    package, found = module.rpartition(".")[0], []
    folder = Path(models.__file__).parent / package.rpartition(".")[2]
    for file in sorted(folder.glob("configuration_*.py")):
        for kind in vars(importlib.import_module(f"{package}.{file.stem}")).values():
            if isinstance(kind, type) and issubclass(kind, transformers.PreTrainedConfig):
                found += [config for s in (SIZES, FEWER, LEAST) if (config := made(kind, s))]
    return found


def made(kind: Any, options: dict[str, Any]) -> Any:
    try:
        return kind(**options)
    except Exception:  # whatever it is that this configuration does not like
        return None


def built(kind: type[nn.Module], configs: list[Any], device: str = "meta") -> nn.Module:
    """A small instance; where nobody knows how, one without parts, which has its class."""
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    for config in configs or [None]:
        given = {
            p.name: _argument(p, config)
            for p in parameters
            if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
            and (p.default is p.empty or p.name in ("config", "layer_idx"))
        }
        with torch.device(device):
            module = made(kind, given)
        if module is not None:
            return module.eval()
    bare = kind.__new__(kind)
    nn.Module.__init__(bare)
    return bare


def _argument(parameter: inspect.Parameter, config: Any) -> Any:
    if "config" in parameter.name:
        return config
    if parameter.name in SIZES:
        return SIZES[parameter.name]
    return next((size for part, size in OTHERS.items() if part in parameter.name), 1)


# --- what the sources compute themselves ------------------------------------------------------


def of_torch(source: Any, x: Tensor, context: Tensor) -> Tensor:
    source.batch_first = True
    return source(x, context, context)[0]


def of_bert(source: Any, x: Tensor, context: Tensor) -> Tensor:
    context = context if crosses(source) else x
    names = list(inspect.signature(type(source.self).forward).parameters)
    two = names[2] in ("to_tensor", "context", "encoder_hidden_states")  # after self and x
    return source.output.dense(source.self(x, *[context] * two)[0])


def crosses(source: Any) -> bool:
    return bool(getattr(source, "is_cross_attention", False))


def of_gpt2(source: Any, x: Tensor, context: Tensor) -> Tensor:
    return source(x, attention_mask=causal(x))[0]


def of_rotary(source: Any, x: Tensor, context: Tensor) -> Tensor:
    """As its model calls it: with the rotary module that is beside it."""
    home = next(k.__module__ for k in type(source).__mro__ if "transformers" in k.__module__)
    beside = vars(importlib.import_module(home))
    (kind,) = (k for name, k in beside.items() if name.endswith("RotaryEmbedding"))
    rotary, positions = kind(source.config), torch.arange(x.shape[-2])[None]
    of_layer = "layer_type" in inspect.signature(rotary.forward).parameters
    places = rotary(x, positions, *[getattr(source, "layer_type", None)] * of_layer)
    return source(x, position_embeddings=places, attention_mask=causal(x))[0]


def causal(x: Tensor) -> Tensor:
    n = x.shape[-2]
    hidden = ~masks.causal.dense(n, n)
    return torch.zeros(n, n).masked_fill(hidden, torch.finfo(x.dtype).min)[None, None]


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    name: getattr(convert, name)
    for name in ("from_torch", "from_bert", "from_gpt2", "from_llama", "from_deepseek")
}
THEIRS = {
    "from_torch": of_torch,
    "from_bert": of_bert,
    "from_gpt2": of_gpt2,
    "from_llama": of_rotary,
    "from_deepseek": of_rotary,
}
MASKED = {"from_gpt2", "from_llama", "from_deepseek"}
"""Conversions of attentions that their models call with a causal mask."""


def farthest(name: str, source: nn.Module, ours: nn.Module) -> float:
    """How far the converted attention is from its source, in float32, at most."""
    source, ours = source.float().eval(), ours.float().eval()
    x, context = torch.randn(2, 5, ours.d_model), torch.randn(2, 7, ours.d_context)
    with torch.no_grad():
        theirs = THEIRS[name](source, x, context)
        crossed = name == "from_torch" or crosses(source)
        mask = masks.causal if name in MASKED else None
        y = ours(x, context if crossed else None, mask=mask)
    return (theirs - y).abs().max().item()


def outcome(name: str, convert_it: Callable[[Any], Any], source: nn.Module) -> str:
    """ "equal" or "refused", or what is neither."""
    try:
        ours = convert_it(source)
    except (TypeError, ValueError) as error:
        return "refused" if refuses(str(error)) else f"unclear: {error!r}"
    far = farthest(name, source, ours)
    return "equal" if far <= 1e-5 else f"{far:.2g} from its source"


def refuses(words: str) -> bool:
    """Whether a message says what is wrong and, after it, a repair."""
    return bool(re.search(r"[:;] .*\.$", words, re.DOTALL)) and len(words) > 40


def random(kind: type[nn.Module], configs: list[Any]) -> nn.Module:
    """A small instance with random weights, on the CPU."""
    torch.manual_seed(0)
    return filled(built(kind, configs, "cpu"), std=0.3)
