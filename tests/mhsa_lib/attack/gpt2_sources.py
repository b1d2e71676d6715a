"""GPT-2 and its relatives at random sizes, and what each answers by itself."""

from typing import Any

import torch
from torch import Tensor

from mhsa_lib import convert, masks
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import Skipped
from tests.mhsa_lib.attack.problem import fill
from tests.mhsa_lib.attack.sources import Source
from tests.mhsa_lib.attack.transformers_classes import built, classes, drawn_config

GPTS = ("gpt2:GPT2", "imagegpt:ImageGPT", "decision_transformer:DecisionTransformerGPT2")
GPTS = (*GPTS, "gpt_bigcode:GPTBigCode", "gpt2:GPT2", "gpt2:GPT2")


def of_gpt2(draw: Draw) -> Source:
    name = draw.one(GPTS)
    attention, kind, _ = classes(name)
    flags = {
        "scale_attn_weights": draw.chance(0.8),
        "scale_attn_by_inverse_layer_idx": draw.chance(0.3),
        "reorder_and_upcast_attn": draw.chance(0.2),
        "attn_pdrop": draw.one((0.0, 0.1)),
        "attention_softmax_in_fp32": False,
    }
    config = drawn_config(draw, kind, n_positions=64, **flags)
    layer, crossed = draw.whole(0, 2), draw.chance(0.05)
    try:
        m = built(name, attention, (config, crossed, layer), (config,)).eval()
    except NotImplementedError as error:
        raise Skipped(f"{name} has no such form") from error
    fill(m)
    if not getattr(config, "reorder_and_upcast_attn", False):  # that one wants float32
        m = m.double()

    def truth(x: Tensor) -> Tensor:
        n = x.shape[1]
        causal = torch.full((n, n), torch.finfo(x.dtype).min, dtype=x.dtype).triu(1)
        try:
            return m.c_proj(_before_dropout(m, x, causal[None, None]))
        except Exception as error:
            raise Skipped(f"{name} is called differently: {error}") from error

    return Source(
        name, m, config.hidden_size, truth, lambda: convert.from_gpt2(m), masks.causal, 1e-5
    )


def _before_dropout(m: Any, x: Tensor, causal: Tensor) -> Tensor:
    """What enters the output's map: whatever follows stays behind in a conversion."""
    seen: list[Tensor] = []
    handle = m.c_proj.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    try:
        m(x, attention_mask=causal)
    finally:
        handle.remove()
    return seen[-1]
