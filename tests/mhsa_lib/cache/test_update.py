"""A cache without any attention of ours: keys and values in, and all that is to be seen out."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

from mhsa_lib import KVCache, masks
from tests.helpers.drawn import rand
from tests.helpers.padded import right_padded
from tests.mhsa_lib.cache.comparing import assert_close

SIZES = {"growing": (None, None), "allocated": (9, None), "ring": (None, 3)}


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("lengths", [[4, 4], [4, 2]], ids=["even", "uneven"])
def test_attention_of_ones_own_decodes_as_one_pass(sizes, lengths):
    cache, (q, k, v) = KVCache(*SIZES[sizes]), rand(3, 2, 6, 7, 5)
    positions, found = right_padded(lengths), []
    for start, end in ((0, 4), (4, 5), (5, 7)):
        keys, values, mask = cache.update(
            k[:, :, start:end], v[:, :, start:end], positions if start == 0 else None
        )
        if isinstance(mask, masks.Predicate):
            mask = mask.dense(end - start, keys.shape[2])
        found.append(sdpa(q[:, :, start:end], keys, values, attn_mask=mask))
    for item, length in enumerate(lengths):
        real = torch.tensor([*range(length), 4, 5, 6])
        alone = cache.rule.dense(len(real), len(real))
        expected = sdpa(*(t[item, :, real] for t in (q, k, v)), attn_mask=alone)
        assert_close(torch.cat(found, dim=2)[item, :, real], expected)


def test_what_goes_in_is_not_what_is_kept():
    cache, k = KVCache(), rand(1, 2, 3, 4)
    before = k.clone()
    keys, values, _ = cache.update(k, k)
    for tensor in (k, keys, values):
        tensor.zero_()
    assert_close(list(cache.wires.values()), [before, before])


def test_gradients_flow_through_allocated_memory_too():
    k = rand(2, 1, 2, 3, 4).requires_grad_()
    for cache in (KVCache(), KVCache(max_length=5), KVCache(window=2)):
        cache.update(k[0], k[1])
        keys, values, _ = cache.update(k[0][:, :, :1], k[1][:, :, :1])
        (grad,) = torch.autograd.grad((keys * values).sum(), k)
        assert grad[:, :, :, 2].abs().min() > 0


BAD = {
    "other tokens": (lambda k: (k, k[:, :, :1]), "are not keys and values of the same tokens"),
    "no heads": (lambda k: (k[0, 0], k[0, 0]), "are not keys and values of the same tokens"),
    "another width": (lambda k: (k[..., :2], k), r"wire 'k' came as .* \(1, 2, 3, 2\), but"),
    "another batch": (
        lambda k: (k.expand(2, -1, -1, -1),) * 2,
        r"batch \(1,\) on cpu, but x has \(2",
    ),
    "another dtype": (
        lambda k: (k, k.float()),
        "wire 'v' came as torch.float32 .* takes it as torch.float64",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused_and_leaves_no_trace(name):
    make, words = BAD[name]
    cache, k = KVCache(), rand(1, 2, 3, 4)
    cache.update(k, k)
    with pytest.raises(ValueError, match=words):
        cache.update(*make(k))
    assert cache.lengths == [3]
    assert_close(list(cache.wires.values()), [k, k])


def test_other_wires_than_before_are_refused():
    cache, k = KVCache(), rand(1, 2, 3, 4)
    cache.update(k, k)
    call = cache.begin((1,), 3, k.device)
    with pytest.raises(
        ValueError, match=r"wire 'w' came as .* but the cache takes no such wire"
    ):
        call.append("w", k)
    call.append("k", k)
    words = "the pass made 1 wires, the cache keeps 2, and they differ in v, so it would have a"
    with pytest.raises(ValueError, match=words):
        call.commit()
    assert cache.lengths == [3]


def test_two_calls_at_once_are_refused():
    cache, k = KVCache(), rand(1, 2, 3, 4)
    one, other = (cache.begin((1,), 3, k.device) for _ in range(2))
    for call in (one, other):
        call.append("k", k)
    one.commit()
    with pytest.raises(RuntimeError, match="changed by something else while this call was"):
        other.commit()
    assert cache.lengths == [3]


def test_a_call_whose_memory_another_one_writes_to_is_refused():
    cache, k = KVCache(max_length=9), rand(1, 2, 3, 4)
    cache.update(k, k)
    interrupted = cache.begin((1,), 3, k.device)
    interrupted.append("k", k)
    keys, values, _ = cache.update(2 * k, 2 * k)
    for go_on in (lambda: interrupted.append("v", k), interrupted.commit):
        with pytest.raises(RuntimeError, match="changed by something else while this call was"):
            go_on()
    assert cache.lengths == [6]
    for wire in (keys, values, *cache.wires.values()):
        assert_close(wire, torch.cat([k, 2 * k], dim=2))
