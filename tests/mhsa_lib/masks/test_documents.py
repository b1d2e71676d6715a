"""Packed documents: nobody attends beyond its own, however the text is cut or computed."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, masks
from mhsa_lib.cache import KVCache, kv_cache
from tests.helpers.drawn import filled, rand

IDS = torch.tensor([[0, 0, 0, 1, 1, 2], [7, 7, 3, 3, -1, -1]])
both = pytest.mark.bothways


def same(ids):
    """Pairs of one document by loops over plain numbers, (batch, 1, query, key)."""
    rows = [[[i == j and i >= 0 for j in row] for i in row] for row in ids.tolist()]
    return torch.tensor(rows)[:, None]


def alone(attention, x, ids):
    """Every document as a causal sequence of its own, each in its place; padding gets zeros."""
    y = torch.zeros_like(x)
    for row, text, found in zip(ids.tolist(), x, y, strict=True):
        for document in {i for i in row if i >= 0}:
            place = [p for p, i in enumerate(row) if i == document]
            found[place] = attention(text[place], mask=masks.causal)
    return y


def attention(kind=MultiHeadAttention):
    torch.manual_seed(0)
    return filled(kind(12, 3).double().eval().requires_grad_(False))


def test_a_query_attends_to_its_own_document_and_padding_to_nothing():
    assert torch.equal(masks.documents(IDS).dense(6, 6), same(IDS))
    assert torch.equal(masks.documents(IDS[1]).dense(6, 6), same(IDS[1:])[0, 0])
    assert masks.picture(masks.documents([4, 4, -1, 9]), 4) == ["■■··", "■■··", "····", "···■"]
    assert torch.equal(masks.documents(IDS).dense(2, 5), same(IDS)[:, :, 3:5, :5])
    assert masks.documents(IDS).dense(8, 6)[:, :, :2].any().logical_not()


@pytest.mark.parametrize("kind", [MultiHeadAttention, FusedMultiHeadAttention])
def test_packed_documents_are_read_as_if_each_were_alone(kind):
    module, x = attention(kind), rand(2, 6, 12)
    found = module(x, mask=masks.causal & masks.documents(IDS))
    assert_close(found, alone(module, x, IDS), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [255, 256, 257, 700])
def test_long_rows_are_computed_in_blocks_of_their_own_document(n):
    ids = (torch.arange(n)[None] + torch.tensor([[0], [50]])) // 90
    module, x = attention(FusedMultiHeadAttention), rand(2, n, 12)
    for mask in (masks.documents(ids), masks.documents(ids[:1].expand(2, -1))):
        dense = same(ids if mask == masks.documents(ids) else ids[:1].expand(2, -1))
        expected = module.to_attention()(x, mask=dense)
        assert_close(module(x, mask=mask), expected, rtol=0, atol=1e-12)
    assert masks.documents(ids).structure.band.behind == 89


@pytest.mark.parametrize("parts", [[1] * 6, [2, 3, 1], [6]], ids=str)
def test_documents_decode_through_every_cache(parts):
    fused, x = attention(FusedMultiHeadAttention), rand(2, 6, 12)
    mask, staged = masks.causal & masks.documents(IDS), fused.to_attention()
    whole = alone(staged, x, IDS)
    cache = KVCache(8)
    found = [fused(part, mask=mask, cache=cache) for part in x.split(parts, dim=1)]
    assert_close(torch.cat(found, dim=1), whole, rtol=0, atol=1e-12)
    with kv_cache(staged):
        found = [staged(part, mask=mask) for part in x.split(parts, dim=1)]
    assert_close(torch.cat(found, dim=1), whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("ids", [IDS, IDS[0]], ids=["of a batch", "of all"])
def test_documents_decode_through_rings_and_given_positions(ids):
    fused, x = attention(FusedMultiHeadAttention), rand(2, 6, 12)
    mask, rows = masks.documents(ids), ids.expand(2, -1)
    near = same(rows) & masks.sliding_window(2).dense(6, 6)
    cache = KVCache(window=2)
    found = [fused(part, mask=mask, cache=cache) for part in x.split([3, 1, 2], dim=1)]
    expected = fused.to_attention()(x, mask=near)
    assert_close(torch.cat(found, dim=1), expected, rtol=0, atol=1e-12)
    cache = KVCache(8)
    with cache.at([[0, 1, 2, 3], [0, 1, 2, -1]]):
        fused(x[:, :4], mask=masks.causal & mask, cache=cache)
    with cache.at([[4], [3]]):
        last = fused(torch.stack([x[0, 4:5], x[1, 3:4]]), mask=masks.causal & mask, cache=cache)
    expected = fused.to_attention()(x, mask=same(rows) & masks.causal.dense(6, 6))
    assert_close(last[:, 0], expected[[0, 1], [4, 3]], rtol=0, atol=1e-12)


@pytest.mark.nohook
def test_documents_are_compiled_and_then_others():
    torch.compiler.reset()
    fused, x = attention(FusedMultiHeadAttention), rand(2, 6, 12)
    program = torch.compile(fused, backend="eager", fullgraph=True)
    for ids in (IDS, IDS.flip(1), IDS.flip(0)):
        found = program(x, mask=masks.documents(ids))
        assert_close(found, fused.to_attention()(x, mask=same(ids)), rtol=0, atol=1e-12)
    torch.compiler.reset()


def test_ids_belong_to_the_mask_and_a_long_name_is_short():
    ids = IDS.clone()
    mask = masks.documents(ids)
    ids += 1
    assert mask == masks.documents(IDS) != masks.documents(ids)
    assert repr(mask) == f"documents({IDS.tolist()})"
    assert repr(masks.documents(IDS.repeat(1, 50))) == "documents(ids of shape (2, 300))"


@both
@pytest.mark.parametrize(
    "ids", [None, 3, [0.5], [True], [[0], [1, 2]], torch.tensor(1)], ids=str
)
def test_what_are_no_ids_is_refused(ids):
    with pytest.raises(TypeError, match=r"ids are whole numbers, one for each token, not "):
        masks.documents(ids)


@both
def test_a_token_without_an_id_is_refused():
    words = r"documents has ids of 6 tokens, but was asked about 7; give an id to every token"
    with pytest.raises(ValueError, match=words):
        attention()(rand(2, 7, 12), mask=masks.documents(IDS))
    fused = attention(FusedMultiHeadAttention)
    with pytest.raises(ValueError, match=words):
        fused(rand(2, 7, 12), mask=masks.documents(IDS))
    cache = KVCache(window=2)
    fused(rand(2, 6, 12), mask=masks.causal, cache=cache)
    with pytest.raises(ValueError, match=words):
        fused(rand(2, 1, 12), mask=masks.documents(IDS), cache=cache)


# --- custom rules answer for each pair -------------------------------------------------------

WHOLE = {
    "the last query": lambda query, key: query == query.max(),
    "the last keys": lambda query, key: key > key.max() - 3,
    "the first keys": lambda query, key: key < key.min() + 3,
    "a share of them": lambda query, key: key >= key.float().mean(),
    "a ready tensor": lambda query, key: torch.ones(len(query), len(query)).tril().bool(),
    "a tensor of one size": lambda query, key: torch.ones(300, 300).tril().bool(),
}


@both
@pytest.mark.parametrize("kind", [MultiHeadAttention, FusedMultiHeadAttention])
@pytest.mark.parametrize("n", [5, 255, 300])
@pytest.mark.parametrize("name", WHOLE)
def test_a_rule_that_reads_positions_as_a_whole_is_refused(name, n, kind):
    with pytest.raises(ValueError, match=r"custom\(lambda\) .*a rule answers for each pair on"):
        attention(kind)(rand(1, n, 12), mask=masks.custom(WHOLE[name]))


def raises(query, key):
    raise RuntimeError


def fails_for_one(query, key):
    return (key >= 0).view(5)


@both
@pytest.mark.parametrize("rule", [raises, fails_for_one])
def test_an_error_in_a_rule_is_told_with_the_rule(rule):
    with pytest.raises(ValueError, match=rf"custom\({rule.__name__}\) raised .* on its own"):
        masks.custom(rule).dense(5, 5)


@both
@pytest.mark.parametrize("kind", [MultiHeadAttention, FusedMultiHeadAttention])
@pytest.mark.parametrize(("batch", "n"), [(2, 5), (3, 3), (2, 300)])
def test_a_table_of_a_batch_without_an_axis_for_heads_leads_to_documents(batch, n, kind):
    table = torch.randint(0, 3, (batch, n))
    mask = masks.custom(lambda query, key: table[:, query] == table[:, key])
    with pytest.raises(ValueError, match=r"For packed documents use masks\.documents\(ids\)"):
        attention(kind)(rand(batch, n, 12), mask=mask)


@pytest.mark.parametrize("kind", [MultiHeadAttention, FusedMultiHeadAttention])
@pytest.mark.parametrize("n", [2, 5, 300])
def test_a_table_of_a_batch_with_one_is_right(n, kind):
    table, module, x = torch.randint(0, 3, (2, n)), attention(kind), rand(2, n, 12)
    mask = masks.custom(lambda query, key: table[:, None, query] == table[:, None, None, key])
    expected = attention()(x, mask=same(table))
    if kind is FusedMultiHeadAttention:
        expected = module.to_attention()(x, mask=same(table))
    assert_close(module(x, mask=mask), expected, rtol=0, atol=1e-12)
