"""The equivalence wall: every implementation against the definition, under every mask.

The reference is the definition in loops, in float64. An implementation that cannot express a
case says why instead of being left out. Rows of other people's modules are compared where a
query sees something; ours are compared everywhere, zeros included.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor

from mhsa_book.equivalence import peers
from mhsa_book.equivalence.cases import (
    SIZES,
    Case,
    Size,
    draw_attention,
    draw_inputs,
    mask_kinds,
)
from mhsa_book.equivalence.implementations import FOREIGN, by_loops, implementations

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


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


def build(
    sizes: Iterable[Size] = SIZES,
    dtypes: Iterable[torch.dtype] = (torch.float64, torch.float32),
    names: Iterable[str] | None = None,
    extra: Mapping[str, Callable[[Case], Tensor]] | None = None,
) -> list[Result]:
    """Run every implementation on every mask, dtype and size.

    ``names`` chooses among them; ``extra`` adds implementations of your own, by name. Where one
    of these raises, its row fails, with the error as the reason, and the others are compared.

    >>> results = build([Size(1, 3, 3, 4, 2)], [torch.float64], ["five stages", "fused"])
    >>> len(results), all(result.passed for result in results)
    (18, True)
    """
    extra = {name: _caught(run) for name, run in (extra or {}).items()}
    chosen = implementations() | extra
    if names is not None:
        chosen = {name: chosen[name] for name in names}
    results = []
    for seed, size in enumerate(sizes):
        exact = draw_attention(size, seed)
        for mask, predicate in mask_kinds(size).items():
            x, context = draw_inputs(size, seed)
            reference = _run(by_loops, Case(exact, x, context, predicate))
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
    except _RaisedError as error:
        return Result(name, mask, case.x.dtype, size, math.inf, str(error))
    if y.shape != reference.shape:
        return Result(name, mask, case.x.dtype, size, math.inf)
    gap = (y.double() - reference).abs()
    if name in FOREIGN and case.dense is not None:
        sees = case.dense.any(dim=-1)[:, 0].expand(gap.shape[:-1])
        gap = gap[sees]
    if not gap.numel():
        return Result(name, mask, case.x.dtype, size, None, "no query sees anything")
    return Result(name, mask, case.x.dtype, size, gap.max().item())


class _RaisedError(Exception):
    """What a reader's implementation raised."""


def _caught(run: Callable[[Case], Tensor]) -> Callable[[Case], Tensor]:
    """Only readers' errors become rows: one in an implementation of ours should be seen."""

    def caught(case: Case) -> Tensor:
        try:
            return run(case)
        except peers.NotApplicableError:
            raise
        except Exception as error:
            raise _RaisedError(f"it raises {type(error).__name__}: {error}") from error

    return caught


def _run(run: Callable[[Case], Tensor], case: Case) -> Tensor:
    return run(case).detach()
