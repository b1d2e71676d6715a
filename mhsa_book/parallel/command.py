"""What ``torchrun -m mhsa_book.parallel`` does: cut an attention over ranks, and compare.

::

    torchrun --nproc-per-node=2 -m mhsa_book.parallel                 heads on two processes
    torchrun --nproc-per-node=2 -m mhsa_book.parallel --cut tokens    a block of tokens each
    torchrun --nproc-per-node=2 -m mhsa_book.parallel --help
"""

import argparse
import os
import sys
from copy import deepcopy
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from mhsa_book.parallel import comparison
from mhsa_book.parallel.process_group import process_group
from mhsa_lib import checks
from mhsa_lib.fused.attention import FusedMultiHeadAttention
from mhsa_lib.parallel.tensor_parallel import parallelize
from mhsa_lib.parallel.ulysses import exchange_heads
from mhsa_lib.variants.grouped import standard_attention
from mhsa_lib.variants.latent import LatentAttention


class Way(NamedTuple):
    """How to divide an attention, and what of one process a rank then has."""

    divide: Any
    cut: comparison.Cut


WAYS = {
    "heads": Way(parallelize, comparison.BY_HEADS),
    "tokens": Way(exchange_heads, comparison.BY_TOKENS),
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="torchrun --nproc-per-node=2 -m mhsa_book.parallel",
        description="Share an attention among ranks; compare with one process.",
    )
    parser.add_argument(
        "--cut", choices=WAYS, default="heads", help="what a rank has a part of"
    )
    parser.add_argument("--d-model", type=int, default=12)
    parser.add_argument("--n-heads", type=int, default=4)
    parser.add_argument("--n-kv-heads", type=int, help="heads of keys; default: all")
    parser.add_argument("--d-latent", type=int, help="keys and values made from a latent")
    parser.add_argument("--fused", action="store_true", help="instead of the five stages")
    parser.add_argument("--tokens", type=int, default=6)
    parser.add_argument("--float32", action="store_true", help="instead of float64")
    parser.add_argument("--leave-out", choices=["forward", "backward"], help="its all-reduce")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a rank waits")
    given = parser.parse_args()
    if given.d_latent is not None and (given.fused or given.n_kv_heads is not None):
        raise ValueError(
            "--d-latent has five stages and no heads of keys; drop the other option."
        )
    if given.leave_out and given.cut == "tokens":
        raise ValueError(
            "--leave-out names an all-reduce; with --cut tokens there is none in it."
        )
    return given


def _drawn(given: argparse.Namespace) -> tuple[Any, Tensor]:
    checks.positive(tokens=given.tokens)
    torch.manual_seed(0)
    dtype = torch.float32 if given.float32 else torch.float64
    x = torch.randn(2, given.tokens, given.d_model, dtype=dtype)
    if given.d_latent is not None:
        sizes = given.d_model, given.n_heads, given.d_latent
        return LatentAttention(*sizes, d_rope=2, bias=True).to(dtype), x
    n_kv_heads = given.n_heads if given.n_kv_heads is None else given.n_kv_heads
    sizes = given.d_model, given.n_heads, n_kv_heads
    drawn: Any = standard_attention(*sizes, bias=True)
    drawn = FusedMultiHeadAttention.from_attention(drawn) if given.fused else drawn
    return drawn.to(dtype), x


def main() -> None:
    """Print the shapes, the collectives and the differences; exit with 1 if they differ."""
    try:
        given = _arguments()
        drawn, x = _drawn(given)
        way = WAYS[given.cut]
        with process_group(given.timeout) as mesh:
            drawn, x = drawn.to(mesh.device_type), x.to(mesh.device_type)
            divided = way.divide(deepcopy(drawn), mesh)
            here = comparison.compare(drawn, divided, x, given.leave_out, way.cut)
            everywhere = comparison.gathered(here)
            if mesh.get_rank() == 0:
                print(comparison.text(everywhere), flush=True)
            dist.barrier()  # or torchrun would stop a rank that prints, for another's exit
    except (TypeError, ValueError) as error:
        first = os.environ.get("RANK", "0") == "0"
        sys.exit(f"mhsa_book.parallel: {error}" if first else 1)
    sys.exit(any(rank.differs for rank in everywhere))
