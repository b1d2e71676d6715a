"""The functions that a reader writes on the way to an attention of their own.

Inputs grow from what can be redone by hand; whole numbers, so that a wrong place shows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mhsa_book.exercises import bugs
from mhsa_book.exercises import core_inputs as inputs
from mhsa_book.exercises.foreseen import Foreseen
from mhsa_book.exercises.kinds import Exercise
from mhsa_book.exercises.verdict import Verdict, wrong
from mhsa_lib import functional, masks


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut every row of x into equal pieces, (batch, n_heads, seq, d_head)."""
    return functional.split_heads(x, n_heads)


def softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Shares that sum to 1 over the keys a query may look at; zeros where there are none."""
    return functional.softmax(scores, masks.resolve(mask, scores.shape, scores.device))


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Scores, softmax and mix, with the scale 1/√d_head."""
    return functional.mix(softmax(functional.score(q, k, q.shape[-1] ** -0.5), mask), v)


def multi_head_attention(
    x: Tensor,
    W_Q: Tensor,
    W_K: Tensor,
    W_V: Tensor,
    W_O: Tensor,
    n_heads: int,
    mask: Tensor | None,
) -> Tensor:
    """All five stages, with matrices as formulas have them: x @ W."""
    q, k, v = (functional.split_heads(x @ W, n_heads) for W in (W_Q, W_K, W_V))
    return functional.concat_heads(attend(q, k, v, mask)) @ W_O


def kv_cache_step(
    x: Tensor,
    k: Tensor,
    v: Tensor,
    W_Q: Tensor,
    W_K: Tensor,
    W_V: Tensor,
    W_O: Tensor,
    n_heads: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """One more token (batch, 1, d_model): its row, and the keys and values with its own."""
    q, new_k, new_v = (functional.split_heads(x @ W, n_heads) for W in (W_Q, W_K, W_V))
    k, v = torch.cat([k, new_k], dim=-2), torch.cat([v, new_v], dim=-2)
    return functional.concat_heads(attend(q, k, v, None)) @ W_O, k, v


def grouped_attend(q: Tensor, k: Tensor, v: Tensor, n_heads: int, n_kv_heads: int) -> Tensor:
    """z of n_heads queries that share n_kv_heads keys and values, neighbours together."""
    return attend(
        q, functional.share_heads(k, n_heads), functional.share_heads(v, n_heads), None
    )


def causal_mask(n_query: int, n_key: int) -> Tensor:
    """Who may look at whom without seeing the future, (query, key)."""
    return masks.causal.dense(n_query, n_key)


def padding_mask(lengths: list[int], n_key: int) -> Tensor:
    """Which keys are words and which are padding, (batch, 1, 1, key)."""
    return masks.key_padding(lengths).dense(1, n_key)


def _recipe(
    weigh: Callable[[Tensor, Tensor], Tensor],
) -> Callable[[Tensor, Tensor | None], Tensor]:
    """A softmax that is right without a mask, and with one whatever `weigh` makes of it."""

    def recipe(scores: Tensor, mask: Tensor | None) -> Tensor:
        return softmax(scores, None) if mask is None else weigh(scores, mask)

    return recipe


def _filled(scores: Tensor, forbidden: Tensor, number: float) -> Tensor:
    return torch.softmax(scores.masked_fill(forbidden, number), dim=-1)


MISTAKES = {
    _recipe(lambda s, may: torch.softmax(s, dim=-1)): "The mask changes nothing.",
    _recipe(lambda s, may: torch.softmax(s, dim=-1) * may): (
        "A row no longer sums to 1: the mask comes after the softmax has divided."
    ),
    _recipe(lambda s, may: torch.softmax(s * may, dim=-1)): (
        "A forbidden score of 0 still has a weight: e⁰ is 1."
    ),
    _recipe(lambda s, may: torch.softmax(s + may, dim=-1)): "Adding 1 or 0 forbids nothing.",
    _recipe(lambda s, may: _filled(s, may, -torch.inf)): "True means: may look.",
    _recipe(lambda s, may: _filled(s, ~may, -torch.inf)): (
        "A row without any key is NaN: its softmax divides 0 by 0."
    ),
    _recipe(lambda s, may: _filled(s, ~may, -1e9)): (
        "A row without any key gives its weight to keys that are forbidden."
    ),
}
"""Softmaxes that are wrong, and why."""


@dataclass(frozen=True)
class Masked(Foreseen):
    """A masked softmax to write: its gradient is tried, too."""

    def judge(self, name: str, answer: Any) -> Verdict:
        """Judge the weights, then whether an empty row spoils the gradient."""
        verdict = super().judge(name, answer)
        fault = _fault_of_gradient(answer) if verdict else ""
        return wrong(f"The weights are right. {fault}") if fault else verdict


def _fault_of_gradient(answer: Callable[..., Tensor]) -> str:
    *_, last = inputs.scores()  # with an empty row
    scores = last["scores"].requires_grad_()
    try:
        weights = answer(scores=scores.clone(), mask=last["mask"])
    except Exception:  # NumPy takes no tensor that has a gradient
        return ""
    if not weights.requires_grad:
        return ""
    try:
        (gradient,) = torch.autograd.grad(weights[0, 0, 0], scores)
    except RuntimeError as error:
        return f"Their gradient raises RuntimeError: {str(error).split(': ')[0]}."
    return "Their gradient is NaN: the empty row spoils it." if gradient.isnan().any() else ""


EXERCISES: dict[str, Exercise] = {
    "split_heads": Foreseen(split_heads, inputs.rows, exhibits=bugs.splits()),
    "concat_heads": Foreseen(functional.concat_heads, inputs.heads, exhibits=bugs.concats()),
    "score": Foreseen(functional.score, inputs.queries_and_keys, exhibits=bugs.scores()),
    "softmax": Masked(softmax, inputs.scores, mistakes=MISTAKES, exhibits=bugs.softmaxes()),
    "causal_mask": Foreseen(causal_mask, inputs.sizes, exhibits=bugs.causals()),
    "padding_mask": Foreseen(padding_mask, inputs.lengths, exhibits=bugs.paddings()),
    "attend": Foreseen(attend, inputs.attend, exhibits=bugs.attends()),
    "multi_head_attention": Foreseen(
        multi_head_attention,
        inputs.whole,
        because="Equal on every input, also where a query may look at nothing.",
        exhibits=bugs.wholes(),
    ),
    "kv_cache_step": Foreseen(kv_cache_step, inputs.steps, exhibits=bugs.steps()),
    "grouped_attend": Foreseen(grouped_attend, inputs.groups, exhibits=bugs.groups()),
}
