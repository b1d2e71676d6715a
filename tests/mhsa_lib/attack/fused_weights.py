"""Ways to give one fused attention other weights: copies, functional calls, changes."""

import pickle
from copy import deepcopy

import torch
from torch import nn
from torch.func import functional_call

from mhsa_lib import FusedMultiHeadAttention
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.problem import Problem, apart, surroundings, weights


def copies(draw: Draw, p: Problem) -> None:
    """Deep copies, pickles, and another module that loads the state."""
    draw.note(legal=True)
    kind = draw.one(("deepcopy", "pickle", "state_dict", "meta"), "copy")
    m = p.module
    if kind == "deepcopy":
        other = deepcopy(m)
    elif kind == "pickle":
        other = pickle.loads(pickle.dumps(m))
    else:
        options = {
            "n_kv_heads": m.n_kv_heads,
            "d_head": m.d_head,
            "bias": m.W_O.bias is not None,
        }
        with torch.device("meta" if kind == "meta" else "cpu"):
            other = FusedMultiHeadAttention(m.d_model, m.n_heads, **options)
        other = other.to_empty(device="cpu").to(m.W_O.weight.dtype)
        other.load_state_dict(m.state_dict())
    expected = weights(m)
    with torch.no_grad():
        for parameter in m.parameters():
            parameter.zero_()  # a copy shares nothing
    with surroundings(draw, p):
        p.holds(p.call(other), expected)


def functional(draw: Draw, p: Problem) -> None:
    """Other weights in each call, without touching those of the module."""
    draw.note(legal=True)
    some = draw.some(["W_QKV.weight", "W_O.weight"]) or ["W_O.weight"]
    with surroundings(draw, p):
        for _ in range(3):
            other = {
                n: torch.randn_like(w) for n, w in p.module.named_parameters() if n in some
            }
            y = functional_call(p.module, other, (p.x, p.given, p.mask.given))
            p.holds(y, apart(p.module, dict(p.module.named_parameters()) | other))
            del other
        p.holds(p.call(), what="y of the module itself, afterwards")


def changed(draw: Draw, p: Problem) -> None:
    """Weights that change between two calls, in every way in which they do."""
    draw.note(legal=True)
    ways = ("optimizer", "data", "load_state_dict", "inference", "assigned", "new parameter")
    mode = draw.one(("grad", "no_grad", "no_grad"))
    for _ in range(draw.whole(2, 4)):
        with surroundings(draw, p, mode):
            p.holds(p.call())
        # outside of autocast, which keeps what it has converted until it ends
        _change(p.module, draw.one(ways, "change"))
        with surroundings(draw, p, mode):
            p.holds(p.call(), what="y after the change")


def _change(module: nn.Module, way: str) -> None:
    new = {name: torch.randn_like(w) for name, w in module.state_dict().items()}
    if way == "optimizer":
        for w in module.parameters():
            w.grad = torch.randn_like(w)
        torch.optim.SGD(module.parameters(), lr=1.0).step()
    elif way == "data":
        for name, w in module.named_parameters():
            w.data.copy_(new[name])
    elif way == "load_state_dict":
        module.load_state_dict(new)
    elif way == "assigned":
        module.load_state_dict(new, assign=True)
    elif way == "inference":
        with torch.inference_mode():
            module.load_state_dict(new)
    else:
        module.W_O.weight = nn.Parameter(new["W_O.weight"])
