"""What each variant computes, written once more in float64: formulas, none of the library.

``definition(module)`` reads parameters and sizes off a module and returns
f(x, context, allowed, query_positions, key_positions) for any leading axes.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from mhsa_book.conversions.to_absorbed import AbsorbedLatentAttention
from mhsa_lib import FusedMultiHeadAttention
from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.rope.rotary import RotarySplit
from mhsa_lib.variants import CollaborativeAttention, LatentAttention, OverlappedAttention
from mhsa_lib.variants.gated import GatedAttention
from tests.mhsa_lib.attack import oracle
from tests.mhsa_lib.attack.problem import weights

Definition = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def of(linear: Any) -> tuple[Tensor, Tensor | None]:
    bias = getattr(linear, "bias", None)
    return linear.weight.detach().double(), None if bias is None else bias.detach().double()


def turned(rows: Tensor, positions: Tensor, base: float) -> Tensor:
    """Neighbouring columns as complex numbers, turned by their position."""
    if not rows.shape[-1]:
        return rows
    d = rows.shape[-1]
    speeds = base ** (-torch.arange(0, d, 2).double() / d)
    angles = positions.double()[..., None] * speeds
    points = torch.view_as_complex(rows.unflatten(-1, (d // 2, 2)).clone())
    return torch.view_as_real(points * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def definition(module: Any) -> Definition:
    if isinstance(module, FusedMultiHeadAttention):
        return _plain(module, weights(module), module.n_kv_heads, module.scale, None)
    if isinstance(module, FusedLatentAttention):
        return _latent(module.attention)
    if isinstance(module, AbsorbedLatentAttention):
        raise TypeError("give the LatentAttention that was absorbed")
    if isinstance(module, LatentAttention):
        return _latent(module)
    if isinstance(module, OverlappedAttention):
        return _overlapped(module)
    if isinstance(module, CollaborativeAttention):
        return _collaborative(module)
    base = module.split.rotary.base if isinstance(module.split, RotarySplit) else None
    W = five(module)
    n_kv_heads = W["K"].shape[0] // module.d_head
    gates = gates_of(module) if isinstance(module, GatedAttention) else None
    return _plain(module, W, n_kv_heads, module.attend.scale, base, gates)


def gates_of(module: Any) -> Tensor:
    """A sigmoid, stretched and cut off, of evaluation mode: (head, 1, 1)."""
    gate = module.gate
    s = 1 / (1 + (-gate.log_alpha.detach().double()).exp())
    stretched = gate.gamma * (1 - s) + gate.zeta * s
    return stretched.maximum(torch.zeros(1)).minimum(torch.ones(1))[:, None, None]


def five(module: Any) -> dict[str, Tensor]:
    """Weights of the five stages, named as the oracle names them."""
    project = module.project
    maps = {"Q": project.W_Q, "K": project.W_K, "V": project.W_V, "O": module.W_O}
    found = {name: of(linear)[0] for name, linear in maps.items()}
    biases = {f"b{name}": of(linear)[1] for name, linear in maps.items()}
    return found | {name: b for name, b in biases.items() if b is not None}


def _plain(module, W, n_kv_heads, scale, base, gates=None):
    def compute(x, context, allowed, query, key):
        def tap(name, value):
            if name == "z" and gates is not None:
                return gates * value
            if base is None or name not in ("q_heads", "k_heads"):
                return value
            return turned(value, (query if name == "q_heads" else key)[..., None, :], base)

        return oracle.whole(x, context, allowed, W, module.n_heads, n_kv_heads, scale, tap)

    return compute


def _norm(norm: Any, rows: Tensor) -> Tensor:
    if not isinstance(norm, torch.nn.RMSNorm):
        return rows
    size = (rows.square().mean(dim=-1, keepdim=True) + norm.eps).sqrt()
    return rows / size * norm.weight.detach().double()


def _latent(module):
    project, split = module.project, module.split
    d_nope, d_rope = split.widths
    base = getattr(split.rotary, "base", 1.0)

    def compute(x, context, allowed, query, key):
        if hasattr(project.W_Q, "W_DQ"):
            down = _norm(project.W_Q.norm, oracle.linear(x, *of(project.W_Q.W_DQ)))
            q = oracle.linear(down, *of(project.W_Q.W_UQ))
        else:
            q = oracle.linear(x, *of(project.W_Q))
        rows = oracle.linear(context, *of(project.W_DKV))
        d_latent = rows.shape[-1] - d_rope
        latent, k_rope = _norm(project.norm, rows[..., :d_latent]), rows[..., d_latent:]
        q = oracle.heads_of(q, module.n_heads)
        k = oracle.heads_of(oracle.linear(latent, *of(split.W_UK)), module.n_heads)
        v = oracle.heads_of(oracle.linear(latent, *of(split.W_UV)), module.n_heads)
        turned_q = turned(q[..., d_nope:], query[..., None, :], base)
        turned_k = turned(k_rope, key, base)[..., None, :, :]
        scores = q[..., :d_nope] @ k.mT + turned_q @ turned_k.mT
        w = oracle.weigh(module.attend.scale * scores, allowed.expand(scores.shape))
        return oracle.linear((w @ v).transpose(-3, -2).flatten(-2), *of(module.W_O))

    return compute


def _overlapped(module):
    o, d = module.overlap, module.d_head

    def wide(rows: Tensor, linear: Any) -> Tensor:
        padded = pad(oracle.linear(rows, *of(linear)), (o, o))
        cuts = [padded[..., i * d : (i + 1) * d + 2 * o] for i in range(module.n_heads)]
        return torch.stack(cuts, dim=-3)

    def compute(x, context, allowed, query, key):
        p = module.project
        q, k, v = wide(x, p.W_Q), wide(context, p.W_K), wide(context, p.W_V)
        z = oracle.attend(q, k, v, allowed, module.attend.scale)
        return oracle.linear(z.transpose(-3, -2).flatten(-2), *of(module.W_O))

    return compute


def _collaborative(module):
    def compute(x, context, allowed, query, key):
        p, mixing = module.project, module.split.mixing.detach().double()
        q, k = oracle.linear(x, *of(p.W_Q)), oracle.linear(context, *of(p.W_K))
        v = oracle.heads_of(oracle.linear(context, *of(p.W_V)), module.n_heads)
        content = oracle.linear(context, *of(module.content.W_C)).mT[..., None, :]
        scores = torch.stack([(q * row) @ k.mT for row in mixing], dim=-3) + content
        w = oracle.weigh(module.attend.scale * scores, allowed.expand(scores.shape))
        return oracle.linear((w @ v).transpose(-3, -2).flatten(-2), *of(module.W_O))

    return compute
