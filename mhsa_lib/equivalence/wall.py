"""The equivalence wall: every implementation, every mask, one set of weights, max |Δ|.

The reference is the definition in loops, in float64. An implementation that cannot express a
case says why instead of being left out. Rows of other people's modules are compared where a
query sees something; ours are compared everywhere, zeros included.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mhsa_lib import masks, naive
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.convert import from_bert, from_gpt2, from_torch
from mhsa_lib.equivalence import peers
from mhsa_lib.fused.attention import FusedMultiHeadAttention

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


@dataclass(frozen=True)
class Size:
    """One size: batch, queries, keys, width, heads, width of a head, bias."""

    batch: int
    n_query: int
    n_key: int
    d_model: int
    n_heads: int
    d_head: int | None = None
    bias: bool = False


SIZES = (
    Size(2, 6, 6, 12, 3),
    Size(3, 5, 5, 8, 4, bias=True),
    Size(1, 1, 1, 6, 1),
    Size(2, 3, 7, 12, 2, bias=True),
    Size(2, 4, 4, 10, 3, d_head=5),
)


@dataclass(frozen=True)
class Case:
    """Everything an implementation gets to see."""

    attention: MultiHeadAttention
    x: Tensor
    context: Tensor | None
    predicate: masks.Predicate | None

    @property
    def dense(self) -> Tensor | None:
        """The mask as a boolean tensor (batch or 1, 1, query, key)."""
        if self.predicate is None:
            return None
        n_key = (self.x if self.context is None else self.context).shape[1]
        dense = self.predicate.dense(self.x.shape[1], n_key)
        return dense[(None,) * (4 - dense.ndim)]

    @property
    def additive(self) -> Tensor | None:
        """The mask as numbers to add: 0 and -inf."""
        if self.dense is None:
            return None
        return torch.zeros(self.dense.shape, dtype=self.x.dtype).masked_fill(
            ~self.dense, float("-inf")
        )


@dataclass(frozen=True)
class Result:
    """Largest difference from the reference in one case, or why there is none."""

    implementation: str
    mask: str
    dtype: torch.dtype
    size: Size
    delta: float | None
    reason: str = ""

    @property
    def passed(self) -> bool:
        """Within the tolerance of its dtype; true where nothing can be compared."""
        return self.delta is None or self.delta <= TOLERANCE[self.dtype]


def mask_kinds(size: Size) -> dict[str, masks.Predicate | None]:
    """The masks of the wall, by name, for one size."""
    lengths = [max(1, size.n_key - 2 * item) for item in range(size.batch)]
    kinds: dict[str, masks.Predicate | None] = {
        "none": None,
        "causal": masks.causal,
        "window": masks.sliding_window(2),
        "prefix": masks.prefix(2),
        "key padding": masks.key_padding(lengths),
        "causal & key padding": masks.causal & masks.key_padding(lengths),
        "checkerboard": masks.custom(lambda query, key: (query + key) % 2 == 0),
        "one blind query": masks.custom(lambda query, key: (query > 0) & (key >= 0)),
    }
    if size.n_query == size.n_key:
        kinds["padding"] = masks.padding(lengths)
    return kinds


def implementations() -> dict[str, Callable[[Case], Tensor]]:
    """Every implementation of the wall, by name; each runs one case."""
    return {
        "loops": _loops,
        "list of heads": lambda c: naive.ListOfHeads(c.attention)(c.x, c.context, c.dense),
        "five stages": lambda c: c.attention(c.x, c.context, c.predicate),
        "five stages, boolean mask": lambda c: c.attention(c.x, c.context, c.dense),
        "fused": lambda c: _fused(c)(c.x, c.context, c.predicate),
        "fused, boolean mask": lambda c: _fused(c)(c.x, c.context, c.dense),
        "fused, additive mask converted": lambda c: _fused(c)(
            c.x, c.context, None if c.additive is None else masks.from_additive(c.additive)
        ),
        "nn.MultiheadAttention, weights": lambda c: _torch(c, need_weights=True),
        "nn.MultiheadAttention, no weights": lambda c: _torch(c, need_weights=False),
        "nn.MultiheadAttention, fast path": lambda c: _torch_fast(c),
        "converted from torch": lambda c: from_torch(peers.torch_module(c.attention))(
            c.x, c.context, c.predicate
        ),
        "BERT layer": _bert,
        "converted from BERT": lambda c: from_bert(peers.bert_module(c.attention))(
            c.x, c.context, c.predicate
        ),
        "GPT-2 layer": _gpt2,
        "converted from GPT-2": lambda c: from_gpt2(peers.gpt2_module(c.attention))(
            c.x, c.context, c.predicate
        ),
    }


def build(
    sizes: Iterable[Size] = SIZES,
    dtypes: Iterable[torch.dtype] = (torch.float64, torch.float32),
    names: Iterable[str] | None = None,
    extra: Mapping[str, Callable[[Case], Tensor]] | None = None,
) -> list[Result]:
    """Run every implementation on every mask, dtype and size.

    ``names`` chooses among them; ``extra`` adds implementations of your own, by name.

    >>> results = build([Size(1, 3, 3, 4, 2)], [torch.float64], ["five stages", "fused"])
    >>> len(results), all(result.passed for result in results)
    (18, True)
    """
    chosen = implementations() | dict(extra or {})
    if names is not None:
        chosen = {name: chosen[name] for name in names}
    results = []
    for seed, size in enumerate(sizes):
        exact = _attention(size, seed)
        for mask, predicate in mask_kinds(size).items():
            x, context = _inputs(size, seed)
            reference = _run(_loops, Case(exact, x, context, predicate))
            for dtype in dtypes:
                case = Case(
                    deepcopy(exact).to(dtype),
                    x.to(dtype),
                    None if context is None else context.to(dtype),
                    predicate,
                )
                results += [
                    _compare(name, run, case, mask, size, reference)
                    for name, run in chosen.items()
                ]
    return results


def matrix(results: Iterable[Result], dtype: torch.dtype) -> dict[str, dict[str, float | str]]:
    """Implementation → mask → the largest difference over all sizes, or the reason for none."""
    cells: dict[str, dict[str, float | str]] = {}
    for result in results:
        if result.dtype is dtype:
            row = cells.setdefault(result.implementation, {})
            old = row.get(result.mask, result.reason)
            known = old if isinstance(old, float) else -1.0
            row[result.mask] = old if result.delta is None else _larger(known, result.delta)
    return cells


def _larger(a: float, b: float) -> float:
    return max(a, b, key=lambda delta: (math.isnan(delta), delta))


def _compare(
    name: str,
    run: Callable[[Case], Tensor],
    case: Case,
    mask: str,
    size: Size,
    reference: Tensor,
) -> Result:
    try:
        y = _run(run, case)
    except peers.NotApplicableError as error:
        return Result(name, mask, case.x.dtype, size, None, str(error))
    if y.shape != reference.shape:
        return Result(name, mask, case.x.dtype, size, math.inf)
    gap = (y.double() - reference).abs()
    if name in FOREIGN and case.dense is not None:
        sees = case.dense.any(dim=-1)[:, 0].expand(gap.shape[:-1])
        gap = gap[sees]
    if not gap.numel():
        return Result(name, mask, case.x.dtype, size, None, "no query sees anything")
    return Result(name, mask, case.x.dtype, size, gap.max().item())


FOREIGN = {
    "nn.MultiheadAttention, weights",
    "nn.MultiheadAttention, no weights",
    "nn.MultiheadAttention, fast path",
    "BERT layer",
    "GPT-2 layer",
}


def _run(run: Callable[[Case], Tensor], case: Case) -> Tensor:
    return run(case).detach()


def _loops(case: Case) -> Tensor:
    return naive.loops(case.attention, case.x, case.context, case.dense)


def _attention(size: Size, seed: int) -> MultiHeadAttention:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        attention = MultiHeadAttention(
            size.d_model, size.n_heads, d_head=size.d_head, bias=size.bias
        )
        for parameter in attention.parameters():
            nn.init.normal_(parameter, std=0.5)
    return attention.double().eval()


def _inputs(size: Size, seed: int) -> tuple[Tensor, Tensor | None]:
    numbers = torch.Generator().manual_seed(seed)
    rows = (size.batch, size.n_query, size.d_model), (size.batch, size.n_key, size.d_model)
    x, context = (torch.randn(r, generator=numbers, dtype=torch.float64) for r in rows)
    return x, None if size.n_query == size.n_key else context


def _fused(case: Case) -> FusedMultiHeadAttention:
    return FusedMultiHeadAttention.from_attention(case.attention)


def _torch(case: Case, *, need_weights: bool) -> Tensor:
    module, blocked = peers.torch_module(case.attention), None
    context = case.x if case.context is None else case.context
    if case.dense is not None:
        shape = (len(case.x), module.num_heads, case.x.shape[1], context.shape[1])
        blocked = masks.to_torch(case.dense).expand(shape).flatten(end_dim=1)
    return module(case.x, context, context, attn_mask=blocked, need_weights=need_weights)[0]


def _torch_fast(case: Case) -> Tensor:
    _self_only(case)
    if case.attention.n_heads % 2:
        raise peers.NotApplicableError("even n_heads only")
    if case.attention.W_O.bias is None:
        raise peers.NotApplicableError("needs biases")
    with torch.no_grad():
        return _torch(case, need_weights=False)


def _bert(case: Case) -> Tensor:
    _self_only(case)
    module = peers.bert_module(case.attention)
    return module.output.dense(module.self(case.x, attention_mask=_finite(case))[0])


def _gpt2(case: Case) -> Tensor:
    _self_only(case)
    module, n = peers.gpt2_module(case.attention), case.x.shape[1]
    looks_ahead = ~masks.causal.dense(n, n)
    if case.dense is None or n == 1 or (case.dense & looks_ahead).any():
        raise peers.NotApplicableError("always causal")
    return module(case.x, attention_mask=_finite(case))[0]


def _self_only(case: Case) -> None:
    if case.context is not None:
        raise peers.NotApplicableError("self-attention only")


def _finite(case: Case) -> Tensor | None:
    """The additive mask as Hugging Face writes it: the lowest finite number for -inf."""
    if case.additive is None:
        return None
    return case.additive.clamp(min=torch.finfo(case.x.dtype).min)
