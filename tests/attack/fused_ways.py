"""Ways to use one fused attention: each must give the function of the definition, or refuse."""

import pickle
import threading
from collections.abc import Callable
from copy import deepcopy

import torch
from torch import nn
from torch.func import functional_call
from torch.nn.utils import parametrize
from torch.utils.checkpoint import checkpoint

from mhsa_lib import FusedMultiHeadAttention, masks
from tests.attack import rules
from tests.attack.draw import Draw
from tests.attack.outcome import Finding, Skipped, close, same
from tests.attack.problem import Problem, apart, fill, first_measurement, surroundings, weights

Way = Callable[[Draw, Problem], None]


def plain(draw: Draw, p: Problem) -> None:
    """As it is, in every mode, with gradients of some of the leaves."""
    draw.note(legal=True)
    p.module.train(draw.chance(0.5))
    if draw.chance(0.2):
        p.module.pack()
        draw.note(packed=True)
    candidates = dict(p.module.named_parameters())
    for parameter in candidates.values():
        parameter.requires_grad_(draw.chance(0.7))
    wanted = {name: w for name, w in candidates.items() if w.requires_grad}
    with surroundings(draw, p) as mode:
        if mode == "grad" and draw.chance(0.7):
            wanted |= {"x": p.x.requires_grad_()}
            if p.part is not None:
                p.given = p.x[..., p.part, :]
        if mode == "grad" and p.part is None and p.given is not None and p.given is not p.x:
            wanted |= {"context": p.given.requires_grad_()}
        y = p.call()
    p.holds(y)
    if mode == "grad" and y.requires_grad and draw.chance(0.6):
        p.gradients_hold(y, wanted)


def five_stages(draw: Draw, p: Problem) -> None:
    """The five stages with the same weights, and the fused form of those again."""
    draw.note(legal=True)
    attention = p.module.to_attention()
    with surroundings(draw, p):
        p.holds(p.call(attention), what="y of the five stages")
        again = FusedMultiHeadAttention.from_attention(attention)
        p.holds(p.call(again), what="y of the fused form again")


def copies(draw: Draw, p: Problem) -> None:
    """Deep copies, pickles, and another module that loads the state."""
    draw.note(legal=True)
    if draw.chance(0.5):
        p.module.pack()
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
    if draw.chance(0.5):
        p.module.pack()
        draw.note(packed=True)
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
    if draw.chance(0.6):
        p.module.pack()
        draw.note(packed=True)
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
        if getattr(module.W_O, "_packs", None) is not None:
            module.pack()  # as its docstring says
    elif way == "load_state_dict":
        module.load_state_dict(new)
    elif way == "assigned":
        module.load_state_dict(new, assign=True)
    elif way == "inference":
        with torch.inference_mode():
            module.load_state_dict(new)
    else:
        module.W_O.weight = nn.Parameter(new["W_O.weight"])


def hooks(draw: Draw, p: Problem) -> None:
    """A hook on a part acts, or is refused."""
    part = draw.one(("W_QKV", "W_O", ""), "part")
    factor = draw.one((0.0, 2.0, -1.0))
    before = draw.chance(0.3)
    target = p.module.get_submodule(part)
    if before and part:
        target.register_forward_pre_hook(lambda m, args: (args[0] * factor,))
    else:
        target.register_forward_hook(lambda m, args, out: out * factor)
    draw.note(hook=f"{'before' if before and part else 'after'}, times {factor}")
    W = weights(p.module)
    acts = {"W_QKV": ["Q", "K", "V"], "W_O": ["O"], "": ["O"]}[part]
    acts = acts if before and part else [*acts, *(f"b{name}" for name in acts)]
    W = {name: value * factor if name in acts else value for name, value in W.items()}
    with surroundings(draw, p):
        p.holds(p.call(), W)


class Adapted(nn.Module):
    """A linear map and a second one beside it, as adapters are written."""

    def __init__(self, base: nn.Linear, exposes: bool) -> None:
        super().__init__()
        self.base, self.beside = (
            base,
            nn.Linear(base.in_features, base.out_features, bias=False),
        )
        self.beside.to(base.weight)
        self.in_features, self.out_features = base.in_features, base.out_features
        self.exposes = exposes

    @property
    def weight(self):
        if not self.exposes:
            raise AttributeError("weight")
        return self.base.weight

    @property
    def bias(self):
        return self.base.bias

    def forward(self, x):
        return self.base(x) + self.beside(x)


class Doubled(nn.Module):
    def forward(self, w):
        return 2 * w


def replaced(draw: Draw, p: Problem) -> None:
    """A part that is adapted or parametrized acts, or is refused."""
    part = draw.one(("W_QKV", "W_O"), "part")
    how = draw.one(
        ("adapter", "quiet adapter", "parametrized", "weight_norm", "old norm"), "how"
    )
    own, target = p.module, p.module.get_submodule(part)
    if draw.chance(0.3):
        own.pack()
    true = dict(own.named_parameters())
    effective = target.weight.detach().clone()
    if "adapter" in how:
        adapted = Adapted(target, how == "adapter")
        effective = effective + adapted.beside.weight.detach()
        setattr(own, part, adapted)
    elif how == "parametrized":
        parametrize.register_parametrization(target, "weight", Doubled())
        effective = 2 * effective
    elif how == "weight_norm":
        nn.utils.parametrizations.weight_norm(target)
        if not target.weight.isfinite().all():
            raise Skipped("half precision cannot hold the norm that weight_norm divides by")
    else:
        with torch.no_grad():
            nn.utils.weight_norm(target)
            target.weight_g *= 2  # the weight of the module is old until it is called
        effective = 2 * effective
    W = apart(own, true | {f"{part}.weight": effective})
    with surroundings(draw, p):
        p.holds(p.call(), W)


def replaced_stage(draw: Draw, p: Problem) -> None:
    """Adapters and quantized maps in the five stages act, or are refused."""
    attention = p.module.to_attention()
    name = draw.one(("W_Q", "W_K", "W_V", "W_O"), "part")
    owner = attention if name == "W_O" else attention.project
    adapted = Adapted(getattr(owner, name), draw.one((True, False), "exposes weight"))
    W = weights(p.module)
    W[name[-1]] = W[name[-1]] + adapted.beside.weight.detach().double()
    setattr(owner, name, adapted)
    with surroundings(draw, p):
        p.holds(p.call(attention), W)


def checkpointed(draw: Draw, p: Problem) -> None:
    """Recomputed in the backward pass: the same numbers."""
    draw.note(legal=True)
    p.x.requires_grad_()
    if p.part is not None:
        p.given = p.x[..., p.part, :]
    reentrant = draw.one((True, False), "reentrant")
    with surroundings(draw, p, "grad"):
        y = checkpoint(lambda x: p.call(x=x), p.x, use_reentrant=reentrant)
        p.holds(y)
        # a reentrant checkpoint knows nothing of torch.autograd.grad
        y.backward(direction := torch.randn_like(y))
    expected, allowed = p.expected_gradients(direction.double())
    close("gradient of x", p.x.grad, expected["x"], allowed["x"])


def recomputed_dropout(draw: Draw, p: Problem) -> None:
    """With dropout, a recomputed pass is the pass: its gradient is that of the result seen."""
    draw.note(legal=True)
    p.module.dropout, seen = 0.5, []
    if p.given is None and draw.chance(0.5):
        p.mask = rules.Mask(masks.causal, None, "causal")
        draw.note(mask="causal")
    p.module.train()
    reentrant = draw.one((True, False), "reentrant")

    def run(x):
        y = p.call(x=x)
        seen.append(y.detach().clone())
        return y

    with surroundings(draw, p, "grad"):
        y = checkpoint(run, p.x.requires_grad_(), use_reentrant=reentrant)
        y.sum().backward()
    if len(seen) == 2 and y.numel():
        size = seen[0].double().abs().amax() + 1e-30
        eps = 8 * torch.finfo(p.computing).eps * (p.x.shape[-1] + p.context.shape[-2] + 4)
        gap = (seen[0].double() - seen[1].double()).abs().amax()
        if gap > eps * size:
            raise Finding(f"recomputed under dropout: another result, by {gap:.2g}")


def in_threads(draw: Draw, p: Problem) -> None:
    """Several threads use one module."""
    draw.note(legal=True)
    results, problems = {}, []

    def work(i: int) -> None:
        try:
            with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=p.autocast):
                results[i] = p.call()
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    for y in results.values():
        p.holds(y)


def built_elsewhere(draw: Draw, p: Problem) -> None:
    """Built under another default dtype or device, as by a process that has just begun."""
    draw.note(legal=True)
    dtype = draw.one((torch.float64, torch.bfloat16, torch.float16), "default")
    device = draw.one(("cpu", "meta"), "device")
    m, old = p.module, torch.get_default_dtype()
    options = {"n_kv_heads": m.n_kv_heads, "d_head": m.d_head, "bias": m.W_O.bias is not None}
    with first_measurement():
        try:
            torch.set_default_dtype(dtype)
            with torch.device(device):
                other = FusedMultiHeadAttention(m.d_model, m.n_heads, **options)
        finally:
            torch.set_default_dtype(old)
        other = other.to_empty(device="cpu").to(m.W_O.weight.dtype)
        other.load_state_dict(m.state_dict())
        with surroundings(draw, p):
            p.holds(p.call(other))


def other_defaults(draw: Draw, p: Problem) -> None:
    """A default dtype or device changes nothing about tensors that have their own."""
    draw.note(legal=True)
    dtype = draw.one((torch.float64, torch.float32, torch.bfloat16, torch.float16), "default")
    device = draw.one(("cpu", "cpu", "meta"), "device")
    old = torch.get_default_dtype()
    try:
        torch.set_default_dtype(dtype)
        with torch.device(device), surroundings(draw, p):
            y = p.call()
    finally:
        torch.set_default_dtype(old)
    p.holds(y)
    with surroundings(draw, p):
        p.holds(p.call(), what="y afterwards")


def compiled(draw: Draw, p: Problem) -> None:
    """Through torch.compile, without a compiler behind it."""
    draw.note(legal=True)
    torch._dynamo.reset()
    module = torch.compile(p.module, backend="eager")
    with surroundings(draw, p, draw.one(("grad", "no_grad"))):
        p.holds(p.call(module))


def dropped(draw: Draw, p: Problem) -> None:
    """Dropout leaves the mean where it was, and does drop."""
    draw.note(legal=True)
    m, n = p.module, 400
    if p.x.ndim != 2 or p.autocast or p.computing is torch.bfloat16 or len(p.x) > 17:
        m = m.float()
        x = torch.randn(draw.whole(2, 9), m.d_model)
        p.x, p.given, p.part, p.computing, p.autocast = x, None, None, torch.float32, False
        causal = draw.chance(0.5)
        p.mask.given = torch.ones(len(x), len(x), dtype=torch.bool).tril() if causal else None
        p.allowed = p.mask.given if causal else torch.ones(len(x), len(x), dtype=torch.bool)
        draw.note(mask="causal tensor" if causal else None, x=tuple(x.shape), context=None)
    m.dropout = draw.one((0.1, 0.5, 0.9), "dropout")
    m.train()
    x = p.x.expand(n, *p.x.shape)
    context = None if p.given is None else p.given.expand(n, *p.given.shape)
    with torch.set_grad_enabled(draw.one((True, False))):
        y = m(x, context, p.mask.given).detach().double()
    m.eval()
    expected = p.expected(weights(m))
    if not expected.numel():
        return
    error = y.std(dim=0) / n**0.5
    # 7 standard errors; a normal tail, but heavy where one weight carries everything
    close(
        "mean under dropout",
        y.mean(dim=0),
        expected,
        7 * error + 1e-4 * expected.abs().amax() + 1e-9,
    )
    seen = p.allowed.expand(m.n_heads, *p.allowed.shape[-2:])
    if seen.any() and expected.abs().amax() > 1e-9 and not y.std(dim=0).amax() > 0:
        raise Finding("dropout in training drops nothing")
    with torch.no_grad():
        same("two passes in evaluation agree", torch.equal(p.call(), p.call()), True)


WAYS: dict[str, tuple[Way, float]] = {
    "plain": (plain, 12),
    "five stages": (five_stages, 3),
    "copies": (copies, 2),
    "functional_call": (functional, 2),
    "changed": (changed, 2),
    "hooks": (hooks, 2),
    "replaced": (replaced, 2),
    "replaced in five stages": (replaced_stage, 1),
    "checkpoint": (checkpointed, 1),
    "checkpoint with dropout": (recomputed_dropout, 0.7),
    "threads": (in_threads, 0.5),
    "defaults": (other_defaults, 1),
    "built elsewhere": (built_elsewhere, 0.3),
    "compile": (compiled, 0.02),
    "dropout": (dropped, 1),
}

__all__ = ["WAYS", "Adapted", "fill"]
