"""Core exercises take what is right however it is written, and name only what is the same."""

import math

import pytest
import torch
from einops import rearrange, repeat
from torch.nn.functional import scaled_dot_product_attention as sdpa

from mhsa_book import exercises
from mhsa_book.exercises import bugs, check, helping, solutions
from mhsa_book.exercises.check import exercise, modules

OTHERS = {"MyAttention", "all_heads_at_once", "sees_the_future"}
CORE = {name: exercise(name) for each in solutions.ALL if (name := each.__name__) not in OTHERS}
CASES = [(name, bug) for name, each in CORE.items() for bug in each.exhibits]


def looped_softmax(scores, mask):
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    found = torch.zeros_like(scores)
    rows = zip(scores.flatten(0, -2), mask.expand_as(scores).flatten(0, -2), strict=True)
    for i, (row, may) in enumerate(rows):
        if may.any():
            found.flatten(0, -2)[i, may] = torch.softmax(row[may], dim=0)
    return found


def by_exp(scores, mask):
    keep = torch.ones_like(scores) if mask is None else mask.expand_as(scores).to(scores)
    lowest = torch.finfo(scores.dtype).min
    top = scores.masked_fill(keep == 0, lowest).amax(dim=-1, keepdim=True)
    weights = (scores - top).clamp(max=0).exp() * keep
    return weights / weights.sum(dim=-1, keepdim=True).clamp_min(1e-30)


def by_head(x, W_Q, W_K, W_V, W_O, n_heads, mask):
    parts = [W.chunk(n_heads, dim=1) for W in (W_Q, W_K, W_V)]
    rows = 0
    for i, part in enumerate(W_O.chunk(n_heads, dim=0)):
        q, k, v = ((x @ p[i])[:, None] for p in parts)
        rows = rows + solutions.attend(q, k, v, mask)[:, 0] @ part
    return rows


def by_einsum(x, W_Q, W_K, W_V, W_O, n_heads, mask):
    q, k, v = (rearrange(x @ W, "b n (h d) -> b h n d", h=n_heads) for W in (W_Q, W_K, W_V))
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])
    z = torch.einsum("bhqk,bhkd->bqhd", by_exp(scores, mask), v)
    return z.flatten(-2) @ W_O


def fused_step(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    q, k1, v1 = (rearrange(x @ W, "b n (h d) -> b h n d", h=n_heads) for W in (W_Q, W_K, W_V))
    k, v = torch.cat((k, k1), dim=-2), torch.cat((v, v1), dim=-2)
    return rearrange(sdpa(q, k, v), "b h n d -> b n (h d)") @ W_O, k, v


def step_by_views(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    def heads(rows):
        return torch.stack(rows.chunk(n_heads, dim=-1), dim=1)

    k = torch.cat([k, heads(x @ W_K)], dim=2)
    v = torch.cat([v, heads(x @ W_V)], dim=2)
    z = solutions.attend(heads(x @ W_Q), k, v, None)
    return torch.cat(z.unbind(dim=1), dim=-1) @ W_O, k, v


def grouped_by_view(q, k, v, n_heads, n_kv_heads):
    q = q.unflatten(1, (n_kv_heads, -1))
    return solutions.attend(q, k[:, :, None], v[:, :, None], None).flatten(1, 2)


def attend_by_sdpa(q, k, v, mask):
    return sdpa(q, k, v, attn_mask=mask)


RIGHT = {
    "split_heads": (
        lambda x, n_heads: rearrange(x, "b n (h d) -> b h n d", h=n_heads),
        lambda x, n_heads: torch.stack(x.chunk(n_heads, dim=-1), dim=1),
    ),
    "concat_heads": (
        lambda z: rearrange(z, "b h n d -> b n (h d)"),
        lambda z: torch.cat(z.unbind(dim=1), dim=-1),
    ),
    "score": (
        lambda q, k, scale: torch.einsum("bhqd,bhkd->bhqk", q, k) * scale,
        lambda q, k, scale: (q[..., :, None, :] * k[..., None, :, :]).sum(dim=-1) * scale,
    ),
    "softmax": (looped_softmax, by_exp),
    "causal_mask": (
        lambda n_query, n_key: torch.ones(n_query, n_key).tril(n_key - n_query).bool(),
        lambda n_query, n_key: ~torch.ones(n_query, n_key).triu(n_key - n_query + 1).bool(),
    ),
    "padding_mask": (
        lambda lengths, n_key: torch.stack(
            [torch.arange(n_key) < n for n in lengths]
        ).unflatten(0, (-1, 1, 1)),
        lambda lengths, n_key: torch.tensor([[i < n for i in range(n_key)] for n in lengths])[
            :, None, None
        ],
    ),
    "attend": (
        attend_by_sdpa,
        lambda q, k, v, mask: by_exp(q @ k.mT / q.shape[-1] ** 0.5, mask) @ v,
    ),
    "multi_head_attention": (by_head, by_einsum),
    "kv_cache_step": (fused_step, step_by_views),
    "grouped_attend": (
        grouped_by_view,
        lambda q, k, v, n_heads, n_kv_heads: sdpa(
            q, *(repeat(t, "b h n d -> b (h g) n d", g=n_heads // n_kv_heads) for t in (k, v))
        ),
    ),
}


@pytest.mark.parametrize("name", CORE)
def test_three_ways_to_write_it_are_accepted(name):
    ways = (getattr(solutions, name), *RIGHT[name])
    assert len(ways) == 3
    for way in ways:
        assert check(name, way), check(name, way).text


def test_a_mistake_of_one_s_own_is_not_named_after_an_exhibit():
    for name in CORE:
        verdict = check(name, lambda *args, **kwargs: torch.zeros(1))
        assert verdict.state == "wrong"
        assert "bug museum" not in verdict.text


def test_what_is_an_exhibit_on_one_input_only_is_not_named_after_it():
    def odd(q, k, scale):
        return q @ k.mT * (1 if q.shape[-1] == 2 else 7)

    assert "bug museum" not in check("score", odd).text
    assert "no_scale" in check("score", lambda q, k, scale: q @ k.mT).text


def test_every_exhibit_of_a_part_is_tried_somewhere():
    tried = {bug for _, bug in CASES}
    parts = ("split_heads", "concat_heads", "score", "causal_mask", "padding_mask")
    assert {each.name for part in parts for each in bugs.of(part)} <= tried


def test_hints_come_one_after_the_other_and_every_exercise_has_three():
    assert {*helping.HINTS} == {*modules()}
    assert {len({*hints}) for hints in helping.HINTS.values()} == {3}
    helping._next_hint.clear()
    for name, hints in helping.HINTS.items():
        assert [exercises.hint(name) for _ in range(4)] == [*hints, hints[0]]
    with pytest.raises(ValueError, match="'no_such' is no exercise; there are split_heads"):
        exercises.hint("no_such")


def test_a_solution_is_printed_where_there_is_one():
    written = {*CORE, *OTHERS}
    for name in written:
        assert exercises.solution(name).startswith((f"def {name}(", f"class {name}("))
    with pytest.raises(ValueError, match="below the exercise, in the chapter"):
        exercises.solution("place_in_memory")
