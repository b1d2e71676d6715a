"""The functions that a reader writes on the way to an attention of their own.

Inputs grow from what can be redone by hand; whole numbers, so that a wrong place shows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mhsa_lib import functional as F
from mhsa_lib import masks
from mhsa_lib.exercises import bugs
from mhsa_lib.exercises.foreseen import Foreseen
from mhsa_lib.exercises.kinds import Exercise
from mhsa_lib.exercises.verdict import Verdict, wrong


def counted(*shape: int) -> Tensor:
    """Numbers 1, 2, 3, …: every address has a number of its own.

    >>> counted(2, 2).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """Random numbers with one decimal, the same every time."""
    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return numbers.mul(10).round().div(10)


def matrices(rows: int, columns: int, names: str = "QKVO") -> dict[str, Tensor]:
    """W_Q, W_K, …, drawn, by their names."""
    return {
        f"W_{name}": drawn(rows, columns, seed=seed) / 2
        for seed, name in enumerate(names, start=1)
    }


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut every row of x into equal pieces, (batch, n_heads, seq, d_head)."""
    return F.split_heads(x, n_heads)


def softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Shares that sum to 1 over the keys a query may look at; zeros where there are none."""
    return F.softmax(scores, masks.resolve(mask, scores.shape, scores.device))


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Scores, softmax and mix, with the scale 1/√d_head."""
    return F.mix(softmax(F.score(q, k, q.shape[-1] ** -0.5), mask), v)


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
    q, k, v = (F.split_heads(x @ W, n_heads) for W in (W_Q, W_K, W_V))
    return F.concat_heads(attend(q, k, v, mask)) @ W_O


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
    q, new_k, new_v = (F.split_heads(x @ W, n_heads) for W in (W_Q, W_K, W_V))
    k, v = torch.cat([k, new_k], dim=-2), torch.cat([v, new_v], dim=-2)
    return F.concat_heads(attend(q, k, v, None)) @ W_O, k, v


def grouped_attend(q: Tensor, k: Tensor, v: Tensor, n_heads: int, n_kv_heads: int) -> Tensor:
    """z of n_heads queries that share n_kv_heads keys and values, neighbours together."""
    return attend(q, F.share_heads(k, n_heads), F.share_heads(v, n_heads), None)


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
    *_, last = _scores()  # with an empty row
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


def _rows() -> Iterator[dict[str, Any]]:
    for batch, seq, d_model, n_heads in (
        (1, 2, 4, 2),
        (1, 2, 6, 3),
        (2, 3, 4, 2),
        (2, 5, 12, 3),
    ):
        yield {"x": counted(batch, seq, d_model), "n_heads": n_heads}


def _heads() -> Iterator[dict[str, Any]]:
    for shape in ((1, 2, 2, 2), (1, 3, 2, 2), (2, 2, 3, 2), (2, 3, 5, 4)):
        yield {"z": counted(*shape)}


def _queries_and_keys() -> Iterator[dict[str, Any]]:
    for n_heads, n_query, n_key, d_head in (
        (1, 1, 2, 2),
        (1, 2, 3, 2),
        (2, 3, 3, 4),
        (3, 4, 6, 9),
    ):
        q, k = drawn(2, n_heads, n_query, d_head), drawn(2, n_heads, n_key, d_head, seed=1)
        yield {"q": q, "k": k, "scale": d_head**-0.5}


def _scores() -> Iterator[dict[str, Any]]:
    yield {"scores": torch.tensor([[[0.0, 1.0]]]), "mask": None}
    yield {
        "scores": torch.tensor([[[0.0, 1.0, 2.0]]]),
        "mask": torch.tensor([True, True, False]),
    }
    yield {"scores": drawn(1, 3, 3), "mask": masks.causal.dense(3, 3)}
    yield {"scores": torch.tensor([[[1000.0, 1001.0]]]), "mask": None}
    yield {
        "scores": torch.tensor([[[0.0, 1.0, 1000.0]]]),
        "mask": torch.tensor([True, True, False]),
    }
    yield {"scores": drawn(2, 2, 3, 3), "mask": masks.causal.dense(3, 3)}
    empty = torch.tensor([[True, True], [False, False]])
    yield {"scores": drawn(1, 2, 2), "mask": empty}


def _attend() -> Iterator[dict[str, Any]]:
    for n_heads, n_query, n_key, d_head in (
        (1, 1, 2, 1),
        (1, 2, 2, 4),
        (2, 3, 3, 4),
        (3, 4, 6, 9),
    ):
        keys = (2, n_heads, n_key, d_head)
        q, k, v = drawn(2, n_heads, n_query, d_head), drawn(*keys, seed=1), drawn(*keys, seed=2)
        for mask in (None, masks.causal.dense(n_query, n_key)):
            yield {"q": q, "k": k, "v": v, "mask": mask}
    yield {"q": 1000 * q, "k": k, "v": v, "mask": None}


def _whole() -> Iterator[dict[str, Any]]:
    for seq, d_model, n_heads in ((1, 2, 1), (2, 4, 2), (3, 12, 3)):
        x, causal = drawn(2, seq, d_model), masks.causal.dense(seq, seq)
        for mask in (None, causal, causal.tril(-1)):  # the last one leaves query 0 nothing
            yield {"x": x, **matrices(d_model, d_model), "n_heads": n_heads, "mask": mask}
    yield {"x": 1000 * x, **matrices(d_model, d_model), "n_heads": n_heads, "mask": None}


def _steps() -> Iterator[dict[str, Any]]:
    for n_before, d_model, n_heads in ((1, 2, 1), (2, 4, 2), (4, 12, 3)):
        known = (2, n_heads, n_before, d_model // n_heads)
        kept = {"k": drawn(*known, seed=7), "v": drawn(*known, seed=8)}
        maps = matrices(d_model, d_model)
        yield {"x": drawn(2, 1, d_model), **kept, **maps, "n_heads": n_heads}


def _groups() -> Iterator[dict[str, Any]]:
    for n_heads, n_kv_heads, seq, d_head in ((2, 1, 2, 1), (4, 2, 2, 1), (6, 3, 5, 4)):
        keys = (2, n_kv_heads, seq, d_head)
        k, v = drawn(*keys, seed=1), drawn(*keys, seed=2)
        q = drawn(2, n_heads, seq, d_head)
        yield {"q": q, "k": k, "v": v, "n_heads": n_heads, "n_kv_heads": n_kv_heads}


def _sizes() -> Iterator[dict[str, Any]]:
    for n_query, n_key in ((1, 1), (2, 2), (4, 4), (1, 3), (2, 5)):
        yield {"n_query": n_query, "n_key": n_key}


def _lengths() -> Iterator[dict[str, Any]]:
    for lengths, n_key in (([1], 1), ([1], 2), ([2, 3], 3), ([3, 0, 2], 4)):
        yield {"lengths": lengths, "n_key": n_key}


EXERCISES: dict[str, Exercise] = {
    "split_heads": Foreseen(split_heads, _rows, exhibits=bugs.splits()),
    "concat_heads": Foreseen(F.concat_heads, _heads, exhibits=bugs.concats()),
    "score": Foreseen(F.score, _queries_and_keys, exhibits=bugs.scores()),
    "softmax": Masked(softmax, _scores, mistakes=MISTAKES, exhibits=bugs.softmaxes()),
    "causal_mask": Foreseen(causal_mask, _sizes, exhibits=bugs.causals()),
    "padding_mask": Foreseen(padding_mask, _lengths, exhibits=bugs.paddings()),
    "attend": Foreseen(attend, _attend, exhibits=bugs.attends()),
    "multi_head_attention": Foreseen(
        multi_head_attention,
        _whole,
        because="Equal on every input, also where a query may look at nothing.",
        exhibits=bugs.wholes(),
    ),
    "kv_cache_step": Foreseen(kv_cache_step, _steps, exhibits=bugs.steps()),
    "grouped_attend": Foreseen(grouped_attend, _groups, exhibits=bugs.groups()),
}
