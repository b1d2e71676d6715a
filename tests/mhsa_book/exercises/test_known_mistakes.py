"""Functions to write: every exhibit that fits is named, every foreseen mistake told."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

from mhsa_book import museum
from mhsa_book.exercises import check
from mhsa_book.exercises.check import exercise, modules
from mhsa_book.exercises.known_mistakes import FunctionWithKnownMistakes

pytestmark = pytest.mark.nohook  # thousands of calls, which take twice as long under the hook

WRITTEN = {
    name: each
    for name in modules()
    if isinstance(each := exercise(name), FunctionWithKnownMistakes)
}
EXHIBITS = [(name, bug) for name, each in WRITTEN.items() for bug in each.exhibits]
MISTAKES = [
    pytest.param(name, mistake, why, id=f"{name}-{i}")
    for name, each in WRITTEN.items()
    for i, (mistake, why) in enumerate(each.mistakes.items())
]


@pytest.mark.parametrize(("name", "bug"), EXHIBITS, ids="-".join)
def test_an_exhibit_is_refused_and_named(name, bug):
    verdict = check(name, WRITTEN[name].exhibits[bug])
    assert verdict.state == "wrong"
    assert bug in verdict.text
    assert museum.exhibit(bug).title in verdict.text


@pytest.mark.parametrize(("name", "mistake", "why"), MISTAKES)
def test_a_foreseen_mistake_hears_its_own_words(name, mistake, why):
    verdict = check(name, mistake)
    assert verdict.state == "wrong"
    assert why in verdict.text
    others = [each for each in WRITTEN[name].mistakes.values() if each != why]
    assert not any(other in verdict.text for other in others)


def by_chunks(x, context, W_Q, W_K, W_V, W_O, n_heads):
    q, *kv = (
        (x @ W_Q).chunk(n_heads, -1),
        *((context @ W).chunk(n_heads, -1) for W in (W_K, W_V)),
    )
    return torch.cat([sdpa(*head) for head in zip(q, *kv, strict=True)], dim=-1) @ W_O


def by_module(x, context, W_Q, W_K, W_V, W_O, n_heads):
    module = nn.MultiheadAttention(x.shape[-1], n_heads, bias=False, batch_first=True)
    module.in_proj_weight.data = torch.cat([W_Q, W_K, W_V], dim=1).mT
    module.out_proj.weight.data = W_O.mT
    return module(x, context, context)[0]


def einsummed(q, k, v):
    scores = torch.einsum("hqd,hkd->hqk", q, k) / math.sqrt(q.shape[-1])
    return torch.einsum("hqk,hkd->hqd", scores.softmax(-1), v)


def one_head_alone(x, W_Q, W_K, W_V):
    return sdpa(x @ W_Q, x @ W_K, x @ W_V)


def one_head_looped(x, W_Q, W_K, W_V):
    rows = []
    for sentence in x:
        scores = (sentence @ W_Q) @ (sentence @ W_K).mT / W_Q.shape[1] ** 0.5
        rows.append(scores.exp() / scores.exp().sum(-1, keepdim=True) @ (sentence @ W_V))
    return torch.stack(rows)


def wrote_from_by_einsum(weights, v, W_O):
    blocks = W_O.unflatten(0, v.shape[-3:-2] + v.shape[-1:])
    return torch.einsum("bhqk,bhkd,hdm->bhqkm", weights, v, blocks)


def wrote_from_alone(weights, v, W_O):
    pieces = W_O.chunk(v.shape[1])
    found = [weights[:, i, ..., None] * (v[:, i] @ W)[:, None] for i, W in enumerate(pieces)]
    return torch.stack(found, dim=1)


def shifted_by_roll(target):
    given = target.roll(1, -1)
    given[..., 0] = 1
    return given, target


def held_out_looped(hits, sentence):
    def share(head, parity):
        found = [float(h[head]) for h, s in zip(hits, sentence, strict=True) if s % 2 == parity]
        return sum(found) / len(found)

    return share(max(range(hits.shape[1]), key=lambda head: share(head, 0)), 1)


def held_out_by_mask(hits, sentence):
    odd = (sentence % 2).bool()
    return hits[odd][:, hits[~odd].float().mean(0).argmax()].double().mean()


def heads_by_view(W_Q, W_O, keep, d_head):
    q, o = W_Q.unflatten(0, (-1, d_head)), W_O.unflatten(1, (-1, d_head))
    return q[keep].flatten(0, 1), o[:, keep].flatten(1)


def heads_by_cat(W_Q, W_O, keep, d_head):
    rows = torch.cat([torch.arange(d_head) + head * d_head for head in keep])
    return W_Q.index_select(0, rows), W_O.index_select(1, rows)


def apart_by_columns(A):
    return bool((2 * A.diagonal() > A.abs().sum(dim=0)).all())


def apart_looped(A):
    size = range(len(A))
    return all(A[i, i] > sum(A[j, i].abs() for j in size if j != i) for i in size)


RIGHT = {
    "soften": (
        lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True),
        lambda scores: scores.log_softmax(-1).exp(),
    ),
    "one_head": (one_head_alone, one_head_looped),
    "wrote_from": (wrote_from_by_einsum, wrote_from_alone),
    "cross_attention": (by_chunks, by_module),
    "all_heads_at_once": (einsummed, lambda q, k, v: sdpa(q, k, v)),
    "shifted_by_hand": (
        shifted_by_roll,
        lambda target: (nn.functional.pad(target, (1, -1), value=1), target),
    ),
    "held_out": (held_out_looped, held_out_by_mask),
    "heads_kept": (heads_by_view, heads_by_cat),
    "tells_apart": (apart_by_columns, apart_looped),
}


@pytest.mark.parametrize("name", RIGHT)
def test_three_ways_to_write_it_are_accepted(name):
    for way in (WRITTEN[name].reference, *RIGHT[name]):
        assert check(name, way), check(name, way).text


@pytest.mark.parametrize("name", WRITTEN)
def test_more_than_one_mistake_is_known(name):
    assert len(WRITTEN[name].exhibits) + len(WRITTEN[name].mistakes) > 1
