"""Random schedules of calls on every cache against one pass over each whole sequence.

Sequences of a batch grow by different numbers of tokens, padding lies anywhere, calls fail and
are tried again, wires are watched meanwhile. What comes out has to be what the definition gives
for each sequence by itself.
"""

from contextlib import ExitStack, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mhsa_book.conversions.to_absorbed import AbsorbedLatentAttention
from mhsa_lib import FusedMultiHeadAttention, KVCache, edit, kv_cache, masks, trace
from mhsa_lib.fused.latent import FusedLatentAttention
from tests.mhsa_lib.attack import attentions, rules
from tests.mhsa_lib.attack.definitions import definition
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import Finding, close
from tests.mhsa_lib.attack.problem import MODES


@dataclass
class Sequences:
    """Tokens of each sequence so far, and the call each came in."""

    batch: int
    tokens: list[Tensor]
    calls: list[list[int]]

    @classmethod
    def empty(cls, batch: int, width: int) -> "Sequences":
        none = [torch.empty(0, width, dtype=torch.float64) for _ in range(batch)]
        return cls(batch, none, [[] for _ in none])

    def reorder(self, order: list[int]) -> None:
        self.tokens = [self.tokens[i] for i in order]
        self.calls = [list(self.calls[i]) for i in order]


def case(draw: Draw) -> None:
    kind = draw.one((*attentions.DEFINED, "absorbed", "fused", "fused", "fused latent"))
    dtype = draw.one((torch.float64, torch.float64, torch.float32))
    source = attentions.drawn(draw, "latent" if kind == "absorbed" else kind, dtype)
    module = AbsorbedLatentAttention(source) if kind == "absorbed" else source
    draw.note(way=f"{kind} cache", dtype=dtype, legal=True)
    compute = definition(source)
    fused = kind.startswith("fused")
    window = draw.one((None, None, 1, 2, 3, 5))
    batch, steps = draw.whole(1, 3), draw.whole(1, 7)
    sizes = [draw.one((1, 1, 1, 2, 3, 7)) for _ in range(steps)]
    total = sum(sizes)
    length = None if draw.chance(0.5) else total + draw.whole(0, 2)
    draw.note(batch=batch, calls=sizes, window=window, length=length)
    sees = _mask(draw, batch, module.n_heads, total, window)
    draw.note(mode=(mode := draw.one(("grad", "no_grad", "inference", "mixed"))))
    draw.note(device=(draw.one(("cpu",) * 15 + ("meta",))))
    if draw.about["device"] == "meta":
        draw.note(way=f"{kind} cache, another default device")
    if mode == "mixed":
        draw.note(way=f"{kind} cache, mixed modes")
    with ExitStack() as stack:
        if mode != "mixed":
            stack.enter_context(MODES[mode]())
        cache = KVCache(length, window)
        if not fused:
            stack.enter_context(kv_cache(module, cache=cache))
        _run(draw, module, cache, compute, sizes, sees, window, dtype, length)


def _mask(draw: Draw, batch: int, n_heads: int, total: int, window: Any) -> Any:
    """A rule about positions; under a window, within it. None sees all there is."""
    # Several tokens without a mask are refused, unless a window hides the future.
    none = 1 if window is not None or max(draw.about["calls"]) <= 1 else 0
    kind = draw.random.choices(("causal", "none", "any"), (4, none, 3))[0]
    if kind == "causal":
        sees = rules.Mask(masks.causal, lambda q, k: q >= k, "causal")
    elif kind == "none":
        sees = rules.Mask(None, lambda q, k: (q == q) & (k == k), "None")
    else:
        sees = rules.predicate(draw, (batch,), n_heads, total)
    draw.note(mask=sees.text)
    if window is None:
        return sees
    within = lambda q, k: sees.rule(q, k) & (q >= k) & (q - k < window)  # noqa: E731
    return rules.Mask(sees.given, within, sees.text)


def _run(draw, module, cache, compute, sizes, sees, window, dtype, length):
    batch = draw.about["batch"]
    done = Sequences.empty(batch, module.d_model)
    ragged = draw.chance(0.5)
    draw.note(ragged=ragged, events=(events := []))
    for call, n in enumerate(sizes):
        if draw.chance(0.06):
            cache.reset()
            events.append(f"reset before call {call}")
            done = Sequences.empty(batch, module.d_model)
        if call and draw.chance(0.2) and cache.n_tokens:
            order = [draw.whole(0, batch - 1) for _ in range(batch)]
            events.append(f"reorder {order} before call {call}")
            cache.reorder(torch.tensor(order))
            done.reorder(order)
        x = torch.randn(batch, n, module.d_model, dtype=dtype)
        real = torch.ones(batch, n, dtype=torch.bool)
        if ragged:
            real = _padding(draw, batch, n)
        starts = torch.tensor([len(t) for t in done.tokens])
        positions = torch.where(real, starts[:, None] + real.cumsum(dim=1) - 1, -1)
        given = positions if ragged and (not real.all() or draw.chance(0.2)) else None
        if draw.chance(0.25):
            _fails(draw, module, cache, x, dtype, length, call, given, events)
        if draw.chance(0.15) and window is None:
            _is_cropped(draw, module, cache, x, given, events)
        if _is_fused(module) and draw.chance(0.05):
            cache = deepcopy(cache)
        mode = draw.about["mode"]
        now = MODES[draw.one(tuple(MODES)) if mode == "mixed" else mode]
        with now(), torch.device(draw.about["device"]):
            y = _watched(draw, module, cache, x, sees.given, given)
        if y.dtype is not dtype or y.shape != x.shape:
            raise Finding(f"call {call}: y is {y.dtype} {tuple(y.shape)}")
        for i in range(batch):
            rows = real[i]
            done.tokens[i] = torch.cat([done.tokens[i], x[i][rows].double()])
            done.calls[i] += [call] * int(rows.sum())
        _answers(compute, done, sees, y, real, dtype, call, module)


def _padding(draw: Draw, batch: int, n: int) -> Tensor:
    """Which tokens of a call are real: padding behind, before, or anywhere."""
    lengths = torch.tensor([draw.whole(0, n) for _ in range(batch)])
    token, side = torch.arange(n), draw.one(("right", "left", "any"))
    if side == "any":
        return torch.rand(batch, n) < 0.6
    return token < lengths[:, None] if side == "right" else token >= n - lengths[:, None]


def _called(module: Any, cache: Any, x: Tensor, mask: Any, positions: Any) -> Tensor:
    """A pass with padding, or without; a fused attention is given the cache."""
    options = {"cache": cache} if _is_fused(module) else {}
    with cache.at(positions) if positions is not None else nullcontext():
        return module(x, mask=mask, **options)


def _is_fused(module: Any) -> bool:
    return isinstance(module, FusedMultiHeadAttention | FusedLatentAttention)


def _watched(
    draw: Draw, module: Any, cache: Any, x: Tensor, mask: Any, positions: Any
) -> Tensor:
    """The call, at times with a trace or an empty edit around it."""
    with ExitStack() as stack:
        if not _is_fused(module) and draw.chance(0.15):
            stack.enter_context(trace(module))
        if not _is_fused(module) and draw.chance(0.15):
            stack.enter_context(edit(module, draw.one(("scores", "weights")), lambda t: t))
        return _called(module, cache, x, mask, positions)


def _is_cropped(draw, module, cache, x, positions, events):
    """Draft tokens, NaN among them, that are dropped again."""
    before = cache.lengths or 0
    draft = x.clone()
    if draw.chance(0.5):
        draft.fill_(float("nan"))
    with torch.no_grad():
        try:
            _called(module, cache, draft, masks.causal, positions)
        except ValueError as error:
            if "room for" not in str(error):
                raise
            return
    cache.crop(before)
    events.append("drafts dropped")


def _fails(draw, module, cache, x, dtype, length, call, positions, events):
    """A call that must fail, and leaves everything as it was."""
    kinds = ["width", "dtype", "mask", "mask dtype", "positions"]
    kinds += ["overflow"] * (length is not None) + ["batch"] * (cache.n_tokens > 0)
    kinds += ["dtype"] * (cache.n_tokens > 0)
    kind = draw.one(kinds)
    events.append(f"a call of wrong {kind} before call {call}")
    bad, mask = x, masks.causal
    if kind == "width":
        bad = torch.cat([x, x], dim=-1)
    elif kind == "batch":
        bad, positions = torch.cat([x, x]), None
    elif kind == "dtype":
        bad = x.to(torch.float32 if dtype is torch.float64 else torch.float64)
    elif kind == "mask":
        mask = torch.ones(3, x.shape[0] + 1, 1, 1, 1, 1, dtype=torch.bool)
    elif kind == "mask dtype":
        mask = torch.ones(1, 1)
    elif kind == "overflow":
        bad, positions = x.new_zeros(x.shape[0], length + 1, x.shape[2]), None
    else:
        positions = torch.full((x.shape[0], x.shape[1]), 10_000)
    try:
        _called(module, cache, bad, mask, positions)
    except (ValueError, TypeError) as error:
        if len(str(error)) < 20:
            raise Finding(f"{kind}: an error that explains nothing: {error}") from error
    else:
        raise Finding(f"a call of wrong {kind} was accepted")


def _answers(compute, done, sees, y, real, dtype, call, module):
    """Every answer of this call is that of one pass over its own sequence."""
    sizes = [len(t) for t in done.tokens]
    for i, n in enumerate(sizes):
        position = torch.arange(n)
        allowed = sees.rule(position[:, None], position)
        while allowed.ndim > 3:  # rules of their own for sequences
            allowed = allowed[i] if len(allowed) == len(sizes) else allowed[0]
        came = torch.tensor(done.calls[i])
        allowed = allowed.expand(*allowed.shape[:-2], n, n) & (came <= came[:, None])
        x = done.tokens[i]
        new = came == call
        expected = compute(x, x, allowed, position, position)[new]
        found = y[i][real[i]].detach().double()
        size = 1 + (expected.abs().amax() if expected.numel() else 0)
        # float64 and float32: a walk over all terms of a pass, times what sharp scores add
        eps = 8 * torch.finfo(dtype).eps * (n + 4 * module.d_model + 64) * 30
        close(f"call {call}, sequence {i}", found, expected, eps * size)
        W_O = module.attention.W_O if hasattr(module, "attention") else module.W_O
        rest = y[i][~real[i]].double()
        b = torch.zeros(y.shape[-1]) if W_O.bias is None else W_O.bias.detach()
        close(f"padding of call {call}", rest, b.double().expand(rest.shape), 1e-6 * size)
