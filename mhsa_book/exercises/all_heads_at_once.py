"""A function to write that has to be right, and to need no more steps for more heads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from mhsa_book.exercises import bugs
from mhsa_book.exercises.calling import by_name_or_place
from mhsa_book.exercises.drawn_inputs import drawn
from mhsa_book.exercises.kinds import Exercise
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes
from mhsa_book.exercises.verdict import Verdict, right, wrong
from mhsa_lib import functional
from mhsa_lib.tracing.op_recorder import trace_ops


@dataclass(frozen=True)
class Quick(FunctionWithKnownMistakes):
    """A function of ``n_heads`` heads, judged by its numbers and by its operations."""

    def judge(self, name: str, answer: Any) -> Verdict:
        """Judge the numbers, then count what torch runs for 2 heads and for 8."""
        verdict = super().judge(name, answer)
        if not verdict:
            return verdict
        few, many = (operations(answer, n_heads) for n_heads in (2, 8))
        if many > few:
            return wrong(
                f"The numbers are right. But 2 heads take {few} operations and 8 heads {many}: "
                f"something runs once for each head. One matrix product takes all heads, if "
                f"they are an axis in front."
            )
        return right(f"{few} operations, for 2 heads as for 8.")


def operations(answer: Callable[..., Any], n_heads: int) -> int:
    """How many operations torch runs for so many heads."""
    given = {name: drawn(n_heads, 5, 4, seed=seed) for seed, name in enumerate("qkv")}
    return len(trace_ops(by_name_or_place, answer, given))


def all_heads_at_once(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """z of every head, (head, query, d_head)."""
    return functional.mix(functional.softmax(functional.score(q, k, q.shape[-1] ** -0.5)), v)


def inputs() -> list[dict[str, Any]]:
    """Heads of two tokens, then of five."""
    return [
        {name: drawn(n_heads, seq, d_head, seed=seed) for seed, name in enumerate("qkv")}
        for n_heads, seq, d_head in ((1, 2, 1), (2, 2, 4), (3, 5, 4))
    ]


EXERCISES: dict[str, Exercise] = {
    "all_heads_at_once": Quick(all_heads_at_once, inputs, exhibits=bugs.at_once())
}
