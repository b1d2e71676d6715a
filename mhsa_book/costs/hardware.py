"""How fast a machine is: by its specification, or by what it does here and now.

A peak is what a large matrix product reaches and a bandwidth what a plain read of memory
reaches. The stages of attention are timed one by one, to be set beside the time that
``mhsa_book.costs.roofline`` allows.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mhsa_book.costs.configurations import ACCELERATORS, find
from mhsa_book.costs.roofline import Rates
from mhsa_book.profiling.timing import fastest
from mhsa_lib import checks
from mhsa_lib import functional as stage
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.device import default_device
from mhsa_lib.variants.grouped import GroupedQueryAttention

PRODUCT = {"cpu": 1024, "cuda": 8192, "mps": 4096}
"""Rows and columns of the matrices whose product is timed."""

READ = {"cpu": 2**26, "cuda": 2**29, "mps": 2**27}
"""Numbers of 4 bytes that are read: more than a cache keeps."""


def rates(name: str, dtype: str = "bfloat16") -> Rates:
    """The specified rates of an accelerator of ``costs.configurations``; nothing is run.

    >>> rates("H200 SXM")
    Rates(peak=989000000000000.0, bandwidth=4800000000000.0)
    >>> rates("T4")
    Traceback (most recent call last):
    ...
    ValueError: the T4 has no tensor cores for 'bfloat16'; choose one of float16, float32.
    """
    accelerator = find(name, ACCELERATORS)
    if dtype not in accelerator.peak:
        known = ", ".join(accelerator.peak)
        raise ValueError(
            f"the {name} has no tensor cores for {dtype!r}; choose one of {known}."
        )
    return Rates(accelerator.peak[dtype], accelerator.bandwidth)


def measured(
    device: torch.device | str | None = None, dtype: torch.dtype = torch.float32
) -> Rates:
    """The rates of the machine at hand, of ``default_device()`` when none is given; about 1 s.

    ``peak`` is the product of two square matrices of ``dtype`` (1024 rows on a CPU, more on a
    GPU), ``bandwidth`` the sum of 256 MiB of numbers, or more on a GPU; each the best of at
    least five runs after one to warm up. Torch uses as many threads as it is set to.

    >>> here = measured("cpu")
    >>> here.peak > here.bandwidth > 0
    True
    """
    device = _timed(device)
    n = PRODUCT[device.type]
    a, b = (torch.ones(n, n, device=device, dtype=dtype) for _ in range(2))
    product = torch.empty(n, n, device=device, dtype=dtype)
    (peak,) = fastest([lambda: torch.mm(a, b, out=product)], device)
    numbers = torch.ones(READ[device.type], device=device)
    (read,) = fastest([numbers.sum], device)
    return Rates(2 * n**3 / peak, 4 * numbers.numel() / read)


def stage_seconds(
    n_query: int,
    d_model: int,
    n_heads: int,
    *,
    n_key: int | None = None,
    n_kv_heads: int | None = None,
    batch: int = 1,
    fused: bool = True,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> dict[str, float]:
    """Seconds that each entry of ``roofline.stages`` takes here, or of ``roofline.steps``.

    ``fused`` times one packed projection, torch's fused kernel and W_O; otherwise each step of
    the five stages as its own module runs it. With ``n_key`` not ``n_query``, keys and values
    lie ready in memory, as a preallocated cache has them. No mask, no gradient.

    >>> list(stage_seconds(2, 64, 4, n_key=32, device="cpu"))
    ['project', 'scores + mix', 'W_O']
    """
    device = _timed(device)
    n_key = n_query if n_key is None else n_key
    n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
    checks.positive(n_query=n_query, n_key=n_key, batch=batch)
    mha = GroupedQueryAttention(d_model, n_heads, n_kv_heads).to(device, dtype)
    with torch.inference_mode():
        x = torch.ones(batch, n_query, d_model, device=device, dtype=dtype)
        q, k, v = mha.split(*mha.project(x, x))
        if n_key != n_query:
            size = batch, n_kv_heads, n_key, mha.d_head
            k, v = (torch.ones(size, device=device, dtype=dtype) for _ in range(2))
        calls = (_fused if fused else _unfused)(mha, x, q, k, v)
        return dict(zip(calls, fastest(calls.values(), device), strict=True))


def _fused(
    mha: MultiHeadAttention, x: Tensor, q: Tensor, k: Tensor, v: Tensor
) -> dict[str, Callable[[], Any]]:
    W_QKV = torch.cat([mha.project.W_Q.weight, mha.project.W_K.weight, mha.project.W_V.weight])
    shared = q.shape[-3] != k.shape[-3]
    if shared and q.shape[-2] == 1:  # the queries of a group become rows: each key is read once
        q, shared = q.reshape(*k.shape[:-2], -1, q.shape[-1]), False
    rows = x.new_ones(*x.shape[:-1], mha.W_O.in_features)
    return {
        "project": lambda: F.linear(x, W_QKV),
        "scores + mix": lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=shared),
        "W_O": lambda: mha.W_O(rows),
    }


def _unfused(
    mha: MultiHeadAttention, x: Tensor, q: Tensor, k: Tensor, v: Tensor
) -> dict[str, Callable[[], Any]]:
    k, v = (stage.share_heads(kv, mha.n_heads) for kv in (k, v))
    scores = stage.score(q, k, mha.attend.scale)
    weights = stage.softmax(scores)
    z = stage.mix(weights, v)
    rows = mha.concat(z)
    return {
        "project": lambda: mha.project(x, x),
        "scores": lambda: stage.score(q, k, mha.attend.scale),
        "softmax": lambda: stage.softmax(scores),
        "mix": lambda: stage.mix(weights, v),
        "concat": lambda: mha.concat(z),
        "W_O": lambda: mha.W_O(rows),
    }


def _timed(device: torch.device | str | None) -> torch.device:
    device = default_device() if device is None else torch.device(device)
    if device.type not in PRODUCT:
        raise ValueError(
            f"device {device.type!r} cannot be timed; use one of {', '.join(PRODUCT)}."
        )
    return device
