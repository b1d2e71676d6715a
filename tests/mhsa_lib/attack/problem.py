"""One fused attention, its inputs and its mask, at random; and what must come out."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import FusedMultiHeadAttention
from tests.mhsa_lib.attack import layouts, oracle, rules
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import Finding, close, same
from tests.mhsa_lib.attack.tolerance import bounds

MODES = {
    "grad": torch.enable_grad,
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
}
MOST = 3_000_000
"""Numbers in the scores of a case; more of them find nothing else, and slowly."""


@dataclass
class Problem:
    """``computing`` is the dtype of the arithmetic: bfloat16 under autocast."""

    module: nn.Module
    x: Tensor
    given: Tensor | None
    mask: rules.Mask
    allowed: Tensor
    computing: torch.dtype
    autocast: bool
    part: slice | None = None

    @property
    def sizes(self) -> tuple[int, int, float]:
        m = self.module
        return m.n_heads, m.n_kv_heads, m.scale

    @property
    def context(self) -> Tensor:
        return self.x if self.given is None else self.given

    def call(self, module: Any = None, x: Tensor | None = None) -> Tensor:
        """``module`` on the inputs; a context that is, or is a part of, x follows it."""
        x, given = self.x if x is None else x, self.given
        if given is self.x:
            given = x
        elif self.part is not None:
            given = x[..., self.part, :]
        return (self.module if module is None else module)(x, given, self.mask.given)

    def expected(self, W: dict[str, Tensor], x: Any = None, context: Any = None) -> Tensor:
        x = self.x.detach().double() if x is None else x
        context = self.context.detach().double() if context is None else context
        return oracle.whole(x, context, self.allowed, W, *self.sizes)

    def holds(self, y: Tensor, W: dict[str, Tensor] | None = None, what: str = "y") -> None:
        W = weights(self.module) if W is None else W
        same(f"dtype of {what}", y.dtype, self.computing)
        x, context = self.x.detach().double(), self.context.detach().double()
        allowed = bounds(x, context, self.allowed, W, *self.sizes, self.computing).y
        close(what, y, self.expected(W), allowed)

    def gradients_hold(self, y: Tensor, leaves: dict[str, Tensor]) -> None:
        """``leaves`` by name: x, context, W_QKV.weight, …; their gradients are right."""
        if not leaves:
            return
        direction = torch.randn(y.shape, dtype=torch.float64).to(y.dtype)
        found = torch.autograd.grad(y, list(leaves.values()), direction, allow_unused=True)
        expected, allowed = self.expected_gradients(direction.double())
        for name, gradient in zip(leaves, found, strict=True):
            if gradient is None:
                raise Finding(f"gradient of {name} is None")
            close(f"gradient of {name}", gradient, expected[name], allowed[name])

    def expected_gradients(self, grad: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        W = {name: w.requires_grad_() for name, w in weights(self.module).items()}
        x = self.x.detach().double().requires_grad_()
        context = self.context.detach().double().requires_grad_()
        y = self.expected(W, x, context)
        names = ["x", "context", *W]
        values = torch.autograd.grad(y, [x, context, *W.values()], grad)
        with torch.no_grad():
            W = {name: w.detach() for name, w in W.items()}
            inputs = x.detach(), context.detach(), self.allowed
            of = bounds(*inputs, W, *self.sizes, self.computing, grad).gradients
        return (
            self._as_given(dict(zip(names, values, strict=True))),
            self._as_given({name: of[name] for name in names}),
        )

    def _as_given(self, by: dict[str, Tensor]) -> dict[str, Tensor]:
        """Of Q, K and V apart to the packed parameters; of a context to the x it is."""
        out = {"W_QKV.weight": torch.cat([by[n] for n in "QKV"]), "W_O.weight": by["O"]}
        if "bQ" in by:
            out["W_QKV.bias"] = torch.cat([by["bQ"], by["bK"], by["bV"]])
        if "bO" in by:
            out["W_O.bias"] = by["bO"]
        out["x"], out["context"] = by["x"], by["context"]
        if self.given is None or self.given is self.x:
            out["x"] = by["x"] + by["context"]
        elif self.part is not None:
            out["x"] = by["x"].clone()
            out["x"][..., self.part, :] += by["context"]
        return out


def weights(module: nn.Module) -> dict[str, Tensor]:
    """Of a fused module, apart and in float64: its rows are those of Q, then K, then V."""
    return apart(module, {name: value.detach() for name, value in module.named_parameters()})


def apart(module: Any, parameters: dict[str, Tensor]) -> dict[str, Tensor]:
    d_head = parameters["W_O.weight"].shape[1] // module.n_heads
    widths = [n * d_head for n in (module.n_heads, module.n_kv_heads, module.n_kv_heads)]
    found = dict(zip("QKV", parameters["W_QKV.weight"].split(widths), strict=True))
    found["O"] = parameters["W_O.weight"]
    if parameters.get("W_QKV.bias") is not None:
        names = ("bQ", "bK", "bV")
        found |= dict(zip(names, parameters["W_QKV.bias"].split(widths), strict=True))
    if parameters.get("W_O.bias") is not None:
        found["bO"] = parameters["W_O.bias"]
    return {name: value.detach().double().clone() for name, value in found.items()}


def module_of(draw: Draw, dtype: torch.dtype, **options: Any) -> FusedMultiHeadAttention:
    n_kv_heads, group = draw.whole(1, 3), draw.whole(1, 3)
    n_heads = n_kv_heads * group
    d_head = draw.one((1, 2, 3, 4, 5, 8, 16, 33))
    d_model = draw.one((n_heads * d_head, 1, 2, 7, 16, 33))
    bias = draw.chance(0.5)
    sizes = f"{d_model}, {n_heads}, n_kv_heads={n_kv_heads}, d_head={d_head}, bias={bias}"
    draw.note(module=f"F({sizes}) {dtype}")
    own = {"n_kv_heads": n_kv_heads, "d_head": d_head, "bias": bias}
    module = FusedMultiHeadAttention(d_model, n_heads, **own, **options)
    size = draw.one((1.0, 1.0, 1.0, 0.1, 4.0, 1e-6))
    draw.note(size=size)
    fill(module, size)
    return module.to(dtype)


def fill(module: nn.Module, size: float = 1.0) -> None:
    """No bias and no matrix is left where it starts."""
    with torch.no_grad():
        for parameter in module.parameters():
            fan_in = max(parameter.shape[-1], 1) if parameter.ndim > 1 else 4
            parameter.normal_(std=size * fan_in**-0.5)


def drawn(draw: Draw, *, plain: bool = False, many: int = 0) -> Problem:
    """``plain``: float32 or float64 and no autocast; ``many``: so many rows at times."""
    kinds = ("f32", "f64", "bf16", "autocast", "f64 autocast", "f16")
    kind = draw.random.choices(kinds, (6, 3, 2, 2, 1, 1))[0]
    if plain:
        kind = draw.one(("f32", "f32", "f64"))
    of = {"f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16}
    dtype = of.get(kind.removesuffix(" autocast"), torch.float32)
    autocast = "autocast" in kind
    computing = torch.bfloat16 if kind == "autocast" else dtype
    module = module_of(draw, dtype)
    n_query = many if many and draw.chance(0.4) else draw.length()
    batch = draw.batch()
    context_is = draw.random.choices(("none", "x", "other", "part of x"), (6, 1, 4, 1))[0]
    n_key = draw.length() if context_is == "other" else n_query
    if torch.Size(batch).numel() * module.n_heads * n_query * n_key > MOST:
        batch = (1,)
    width = module.d_model
    x = layouts.rows(
        draw, (*batch, n_query, width), dtype, "x", draw.one((1.0, 1.0, 1e-3, 5.0))
    )
    given, part = None, None
    if context_is == "x":
        given = x
    elif context_is == "other":
        given = layouts.rows(draw, (*batch, n_key, width), dtype, "context")
    elif context_is == "part of x":
        part = draw.one((slice(0, n_query // 2), slice(n_query // 3, None), slice(0, None)))
        given = x[..., part, :]
        n_key = given.shape[-2]
    if kind == "autocast" and draw.chance(0.4):  # what the layer before made is in bfloat16
        if given is None and draw.chance(0.5):
            x = x.bfloat16()
        elif context_is == "other":
            given = given.bfloat16()
        draw.note(dtypes=f"{x.dtype}, {getattr(given, 'dtype', None)}")
    mask = rules.anything(draw, batch, module.n_heads, n_query, n_key)
    draw.note(context=draw.about.get("context", context_is), kind=kind)
    allowed = mask.dense(n_query, n_key)
    return Problem(module, x, given, mask, allowed, computing, autocast, part)


@contextmanager
def surroundings(draw: Draw, p: Problem | None = None, mode: str = "") -> Iterator[str]:
    """Which library multiplies, whether gradients are kept, and autocast: drawn."""
    mode = mode or draw.one(("grad", "grad", "no_grad", "inference"))
    draw.note(mode=mode)
    with ExitStack() as stack:
        stack.enter_context(MODES[mode]())
        if p is not None and p.autocast:
            stack.enter_context(torch.autocast("cpu", torch.bfloat16))
        yield mode
