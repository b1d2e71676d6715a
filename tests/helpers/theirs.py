"""Layers of transformers, in double precision from end to end where their input is."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedConfig
from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding

from mhsa_lib import masks


@contextmanager
def precisely(dtype: torch.dtype) -> Iterator[None]:
    """Their code goes down to float32 in norms, softmax and turns; here it does not."""
    usual = torch.get_default_dtype()
    with pytest.MonkeyPatch.context() as patch:
        if dtype is torch.float64:
            patch.setattr(torch, "float32", torch.float64)
            patch.setattr(torch, "float", torch.float64)
            patch.setattr(Tensor, "float", Tensor.double)
            torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(usual)


def turns(embedding, config: PreTrainedConfig, x: Tensor, start: int, layer_type=None):
    """What the model around an attention hands it, from a model that has seen nothing yet."""
    options = {"layer_type": layer_type} if embedding is Gemma3RotaryEmbedding else {}
    positions = torch.arange(start, start + x.shape[-2])[None]
    return embedding(config)(x, positions, **options)


def theirs(module, embedding, x: Tensor, mask=masks.causal, start=0, cache=None):
    """One call of an attention as its model makes it, in the precision of ``x``."""
    with precisely(x.dtype):
        seen = mask.dense(x.shape[-2], start + x.shape[-2])[None, None]
        added = torch.zeros(seen.shape, dtype=x.dtype)
        added = added.masked_fill(~seen, torch.finfo(x.dtype).min)
        layer_type = getattr(module, "layer_type", None)
        return module(
            x,
            position_embeddings=turns(embedding, module.config, x, start, layer_type),
            attention_mask=added,
            past_key_values=cache,
        )
