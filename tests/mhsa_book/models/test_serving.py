"""Pages, fewer bits and drafts: against a model that reads every text as a whole."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.models import packed, serving
from mhsa_book.models.packed import PackedCache
from mhsa_book.models.paged import PagedCache, Pool
from tests.mhsa_book.models.small import small

TEXT, OTHER = "the cat sat on the mat and the cat sat", "a mat fell."
SIZE = 4


@pytest.fixture
def lm():
    return small()


@pytest.fixture
def pool(lm):
    return Pool(lm, n_pages=40, size=SIZE)


def read(lm, cache, ids, every=False):
    return serving.step(lm, [(cache, ids)], every)[0]


def close(found, expected):
    assert_close(found, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("size", [1, 3, 4, 100])
@pytest.mark.parametrize("chunk", [1, 3, 7])
def test_a_text_in_chunks_and_pages_is_the_text_as_a_whole(lm, size, chunk):
    ids = lm.ids(TEXT)
    cache = PagedCache(Pool(lm, n_pages=len(ids), size=size))
    parts = [ids[i : i + chunk] for i in range(0, len(ids), chunk)]
    close(torch.cat([read(lm, cache, part, every=True) for part in parts]), lm.logits(TEXT))
    assert len(cache.table) == -(-len(ids) // size)


def test_requests_in_one_pass_do_not_meet(lm, pool):
    texts = [TEXT, OTHER, TEXT[:9]]
    work = [(PagedCache(pool), lm.ids(text)) for text in texts]
    for text, found in zip(texts, serving.step(lm, work), strict=True):
        close(found, lm.logits(text)[-1:])
    words = [lm.ids(" ")[0]] * 3
    again = serving.step(lm, [(cache, [w]) for (cache, _), w in zip(work, words, strict=True)])
    for text, found in zip(texts, again, strict=True):
        close(found, lm.logits(text + " ")[-1:])


def test_a_prefix_is_read_once_and_its_pages_are_shared(lm, pool):
    ids = lm.ids(TEXT)
    first, second = PagedCache(pool), PagedCache(pool)
    read(lm, first, ids)
    other = [*ids[: 2 * SIZE + 1], *lm.ids(OTHER)]
    assert second.find_prefix(other) == 2 * SIZE
    found = read(lm, second, other[2 * SIZE :])
    close(found, lm.logits(lm.text(other))[-1:])
    assert second.table[:2] == first.table[:2]
    assert not {*second.table[2:]} & {*first.table}
    assert [pool.uses[page] for page in second.table] == [2, 2] + [1] * (len(second.table) - 2)
    assert pool.n_used == len({*first.table, *second.table})


def test_a_whole_text_that_is_known_leaves_a_token_to_read(lm, pool):
    ids = lm.ids(TEXT)[: 2 * SIZE]
    read(lm, PagedCache(pool), ids)
    again = PagedCache(pool)
    assert again.find_prefix(ids) == SIZE
    close(read(lm, again, ids[SIZE:]), lm.logits(lm.text(ids))[-1:])


def test_released_pages_are_found_until_they_are_taken(lm):
    pool, ids = Pool(lm, n_pages=3, size=SIZE), lm.ids(TEXT)[: 3 * SIZE]
    cache = PagedCache(pool)
    read(lm, cache, ids)
    cache.release()
    assert pool.n_used == 0
    again = PagedCache(pool)
    assert again.find_prefix(ids) == 2 * SIZE
    assert pool.n_used == 2
    close(read(lm, again, ids[2 * SIZE :]), lm.logits(lm.text(ids))[-1:])
    again.release()
    read(lm, PagedCache(pool), lm.ids("fell on a mat")[: 3 * SIZE])
    assert PagedCache(pool).find_prefix(ids) == 0


def test_a_full_pool_is_refused_with_a_repair(lm):
    pool = Pool(lm, n_pages=2, size=SIZE)
    cache = PagedCache(pool)
    with pytest.raises(MemoryError, match="all 2 pages are in use"):
        read(lm, cache, lm.ids(TEXT))
    assert cache.n_tokens == 0
    cache.release()
    assert pool.n_used == 0
    read(lm, cache, lm.ids(TEXT)[:8])


def test_a_cropped_text_goes_on_as_another(lm, pool):
    ids = lm.ids(TEXT)
    cache = PagedCache(pool)
    read(lm, cache, ids)
    for keep in (len(ids) - 1, 2 * SIZE, 2 * SIZE - 1, 1):
        cache.crop(keep)
        assert len(cache.table) == -(-keep // SIZE)
        cache_ids = [*ids[:keep], *lm.ids(OTHER)]
        close(read(lm, cache, cache_ids[keep:]), lm.logits(lm.text(cache_ids))[-1:])
        ids = cache_ids
        stale = PagedCache(pool)
        stale.find_prefix(lm.ids(TEXT))
        n = stale.n_tokens
        rest = lm.ids(TEXT)[n:]
        close(read(lm, stale, rest), lm.logits(TEXT)[-1:])
        stale.release()
    with pytest.raises(ValueError, match="n_tokens=99"):
        cache.crop(99)


def test_a_fork_copies_one_page_and_only_when_it_writes(lm, pool):
    ids = lm.ids(TEXT)[: 2 * SIZE + 1]
    cache = PagedCache(pool)
    read(lm, cache, ids)
    before, other = pool.n_used, cache.fork()
    assert pool.n_used == before
    ends = lm.ids("a"), lm.ids("m")
    found = serving.step(lm, [(cache, ends[0]), (other, ends[1])])
    assert pool.n_used == before + 1
    assert cache.table[:2] == other.table[:2]
    for new, logits in zip(ends, found, strict=True):
        close(logits, lm.logits(lm.text([*ids, *new]))[-1:])


@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_late_prefix_is_refused(lm, size):
    cache = PagedCache(Pool(lm, n_pages=40, size=size))
    read(lm, cache, lm.ids(TEXT))
    with pytest.raises(ValueError, match="before the first"):
        cache.find_prefix(lm.ids(TEXT))


def test_work_that_cannot_be_done_is_refused(lm, pool):
    cache, ids = PagedCache(pool), lm.ids(TEXT)
    with pytest.raises(ValueError, match="at least one"):
        serving.step(lm, [(cache, [])])
    with pytest.raises(ValueError, match="given twice"):
        serving.step(lm, [(cache, ids), (cache, ids)])
    with (
        lm.replace(0, lambda x, mask: x),
        pytest.raises(ValueError, match="replaced, switched off or watched"),
    ):
        read(lm, cache, ids)
    with lm.without([(0, 0)]), pytest.raises(ValueError, match="switched off"):
        read(lm, cache, ids)


# --- fewer bits ------------------------------------------------------------------------------


def test_whole_numbers_are_within_half_a_step():
    t = torch.randn(2, 5, 8)
    for bits in (2, 4, 8):
        for axis, n_scales in ((-1, 10), (-2, 16), ((-3, -2, -1), 1)):
            found = packed.whole_numbers(t, bits, axis)
            most = 2 ** (bits - 1) - 1
            assert found.codes.abs().max() == most
            assert ((found.unpacked() - t).abs() <= found.scale / 2 + 1e-6).all()
            assert found.n_bits == 80 * bits + 16 * n_scales
    assert packed.whole_numbers(torch.zeros(1, 2), 8).unpacked().tolist() == [[0, 0]]
    with pytest.raises(ValueError, match="bits=9"):
        packed.whole_numbers(t, 9)


def test_fp8_has_three_bits_of_mantissa():
    t = torch.randn(1000).exp()
    assert ((packed.fp8(t).unpacked() - t).abs() <= t / 16 * (1 + 1e-6)).all()
    assert packed.fp8(torch.tensor([-1e4])).unpacked() == -448


def test_a_packed_cache_reads_what_it_has_rounded(lm):
    ids = lm.ids(TEXT)
    exact = PackedCache(lm, lambda t: packed.Packed(t, torch.ones(0), 32))
    parts = [read(lm, exact, part, every=True) for part in (ids[:3], ids[3:])]
    close(torch.cat(parts), lm.logits(TEXT))
    numbers = lm.n_layers * 2 * lm.n_kv_heads * lm.d_head * len(ids)
    assert exact.n_bytes == 4 * numbers
    coarse = PackedCache(lm, lambda t: packed.whole_numbers(t, 2), packed.bfloat16)
    far = (read(lm, coarse, ids) - lm.logits(TEXT)[-1:]).abs().max()
    near = (read(lm, PackedCache(lm, packed.bfloat16), ids) - lm.logits(TEXT)[-1:]).abs().max()
    assert near < far / 5
    rows = numbers // lm.d_head // 2
    assert coarse.n_bytes == (numbers // 2 * (2 + 16) + rows * 16) // 8


# --- drafts ----------------------------------------------------------------------------------


def always_wrong(ids, n):
    return [0] * n


def test_drafts_change_nothing_but_the_passes(lm):
    ids = lm.ids(TEXT)

    def empty():
        return PagedCache(Pool(lm, n_pages=40, size=SIZE))

    plain = serving.write_on(lm, empty(), ids, 12)
    assert lm.text(plain.ids) == lm.generate(TEXT, 12)
    assert plain.n_passes == 12

    def knows(ids, n):
        done = len(ids) - len(lm.ids(TEXT))
        return plain.ids[done : done + n]

    def knows_two(ids, n):
        return [*knows(ids, n)[:2], *[0] * (n - 2)] if n > 2 else knows(ids, n)

    for draft in (always_wrong, serving.prompt_lookup, knows, knows_two):
        cache = empty()
        found = serving.write_on(lm, cache, ids, 12, draft)
        assert found.ids == plain.ids
        assert cache.ids == [*ids, *plain.ids[:-1]]
        assert len(found.ids) == found.n_passes + sum(found.accepted)
    best = serving.write_on(lm, empty(), ids, 12, knows)
    assert best.n_passes == 4  # 1 token behind the prompt, then 5, 5 and 1
    assert best.accepted == best.drafted == [4, 4, 0]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([1, 2, 3, 4, 1, 2], [3, 4, 1]),
        ([9, 2, 5, 1, 2, 7, 1, 2], [7, 1, 2]),
        ([4, 2, 8, 3, 2], [8, 3, 2]),
        ([1, 2, 3], []),
        ([1], []),
        ([6, 6], [6]),
    ],
)
def test_prompt_lookup_prefers_long_and_late(ids, expected):
    assert serving.prompt_lookup(ids, 3) == expected
