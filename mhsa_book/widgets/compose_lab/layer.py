"""A composing layer of random numbers, and its factors as a figure carries them."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mhsa_book import examples
from mhsa_lib import masks
from mhsa_lib.tracing import trace
from mhsa_lib.variants import ComposedAttention
from mhsa_lib.variants.composed import Compose, Gate, LowRank, Static

MOST = {"heads": 4, "tokens": 8, "rank": 3}


def drawn() -> tuple[Compose, Tensor, Tensor]:
    """The exchange after the softmax of a random causal layer, its weights and its tokens.

    >>> compose, weights, x = drawn()
    >>> weights.shape, x.shape
    (torch.Size([3, 6, 6]), torch.Size([6, 12]))
    """
    x = examples.random_tokens().double()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1)
        composed = ComposedAttention(12, 3).double()
        for parameter in composed.attend.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
        with trace(composed) as wires:
            composed(x, mask=masks.causal)
    return composed.attend.post, wires["weights"], x


def factors(compose: Compose, x: Tensor, n_heads: int) -> dict[str, Any]:
    """The numbers that make the maps of all pairs of ``x``, by wire; a branch left out is zero.

    ``W_b`` is (from, to), ``query_w1`` (query, rank, head), ``query_gate`` (query, head), and
    the same for keys. Raises ``ValueError`` for two branches of a kind, or another kind.

    >>> sorted(factors(Compose(Static(3)), torch.zeros(6, 12), 3))[:3]
    ['W_b', 'key_gate', 'key_w1']
    """
    nothing = torch.zeros(x.shape[0], 1, n_heads)
    found = {"W_b": torch.zeros(n_heads, n_heads)}
    for side in ("query", "key"):
        found |= {f"{side}_{name}": nothing for name in ("w1", "w2")}
        found[f"{side}_gate"] = nothing[:, 0]
    seen: set[str] = set()
    for branch in compose.branches:
        made = _factors_of(branch, x)
        if not made or seen & made.keys():
            raise ValueError(
                f"{type(branch).__name__} is a branch too many or of another kind; the figure "
                "shows one Static, and a LowRank and a Gate for each side."
            )
        found, seen = found | made, seen | made.keys()
    return {name: numbers.detach().cpu().double().tolist() for name, numbers in found.items()}


def _factors_of(branch: Any, x: Tensor) -> dict[str, Tensor]:
    if isinstance(branch, Static):
        return {"W_b": branch.W_b}
    made = branch({"query": x, "key": x})
    if isinstance(branch, LowRank):
        return {f"{branch.side}_w1": made[0], f"{branch.side}_w2": made[1]}
    return {f"{branch.side}_gate": made} if isinstance(branch, Gate) else {}


def check(weights: Tensor, x: Tensor, tokens: Sequence[str]) -> None:
    """Raise ``ValueError`` unless the three fit each other and a figure can show them."""
    if weights.ndim != 3 or weights.shape[1:] != (len(x), len(x)) or x.ndim != 2:
        raise ValueError(
            f"weights {tuple(weights.shape)} are not (head, query, key) for the "
            f"{tuple(x.shape)} numbers of x; pass one sequence, (seq, d_model)."
        )
    if len(tokens) != len(x):
        raise ValueError(f"x has {len(x)} tokens but there are {len(tokens)} words; name each.")
    for what, size in (("heads", len(weights)), ("tokens", len(x))):
        if size > MOST[what]:
            raise ValueError(
                f"{size} {what} are more than the figure can show, {MOST[what]}; cut x."
            )
    if not weights.isfinite().all() or not x.isfinite().all():
        raise ValueError("weights or x hold NaN or infinity; look where they come from.")
