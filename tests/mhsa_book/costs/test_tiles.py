"""What the loop moves is what a loop over tensors touches, and what a closed form says."""

import pytest
import torch

from mhsa_book.costs.tiles import fast_bytes, five_stages, largest_tile, moved
from mhsa_lib import masks
from mhsa_lib.masks.structure import Band

pytestmark = pytest.mark.nohook  # of a million small calls on whole numbers

BANDS = {"none": Band(), "causal": Band(0), "window": Band(0, 3)}
MASKS = {"none": masks.prefix(16), "causal": masks.causal, "window": masks.sliding_window(4)}


class Large:
    """A large memory that counts the numbers that come from it and go to it."""

    def __init__(self) -> None:
        self.touched = 0

    def read(self, t, first, end):
        self.touched += t[first:end].numel()
        return t[first:end].clone()

    def write(self, t, first, part):
        self.touched += part.numel()
        t[first : first + len(part)] = part


def tiled(q, k, v, tile, allowed):
    """The loop itself: z, numbers touched, tiles computed, the most numbers close by."""
    memory, z, computed, most = Large(), torch.full_like(v, float("nan")), 0, 0
    for i in range(0, len(q), tile):
        Q = memory.read(q, i, i + tile)
        largest = torch.full((tile, 1), float("-inf"), dtype=q.dtype)
        total, part = torch.zeros_like(largest), torch.zeros_like(Q)
        for j in range(0, len(k), tile):
            may_look = allowed[i : i + tile, j : j + tile]
            if not may_look.any():
                continue
            K, V = memory.read(k, j, j + tile), memory.read(v, j, j + tile)
            scores = (Q @ K.mT).masked_fill(~may_look, float("-inf"))
            close = (Q, K, V, part, scores, largest, total)
            most, computed = max(most, sum(t.numel() for t in close)), computed + 1
            higher = torch.maximum(largest, scores.amax(-1, keepdim=True))
            keep = (largest - higher).exp().nan_to_num(0)
            powers = (scores - higher).exp().nan_to_num(0)
            total, part = keep * total + powers.sum(-1, keepdim=True), keep * part + powers @ V
            largest = higher
        memory.write(z, i, part / total)
    return z, memory.touched, computed, most


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("tile", [1, 2, 4, 8, 16])
def test_the_count_is_what_the_loop_over_tensors_touches(tile, mask):
    q, k, v = torch.randn(3, 16, 4).double().unbind()
    allowed = MASKS[mask].dense(16, 16)
    z, touched, computed, most = tiled(q, k, v, tile, allowed)
    wanted = (q @ k.mT).masked_fill(~allowed, float("-inf")).softmax(-1) @ v
    torch.testing.assert_close(z, wanted)
    counted = moved(16, 4, tile, BANDS[mask], itemsize=8)
    assert (counted.bytes, counted.computed) == (8 * touched, computed)
    assert fast_bytes(tile, 4, itemsize=8) == 8 * most
    tiles = allowed.unflatten(-1, (-1, tile)).unflatten(0, (-1, tile)).sum((1, 3))
    assert counted.skipped == (tiles == 0).sum()
    assert counted.partial == ((tiles > 0) & (tiles < tile**2)).sum()


@pytest.mark.parametrize(("n", "d"), [(2048, 64), (4096, 64), (2048, 128)])
@pytest.mark.parametrize("kib", [16, 32, 64, 128, 256])
def test_without_a_mask_it_is_the_closed_form(n, d, kib):
    tile = largest_tile(kib * 1024, n, d)
    counted = moved(n, d, tile)
    assert counted.q_z == 4 * 2 * n * d
    assert counted.k_v == 4 * 2 * n * d * n // tile
    assert counted.k_v * kib == moved(n, d, largest_tile(16 * 1024, n, d)).k_v * 16  # ∝ 1 / M
    assert fast_bytes(tile, d) <= kib * 1024 < fast_bytes(2 * tile, d)


def test_twice_the_tokens_and_twice_the_width_read_four_times_as_much():
    memory = 64 * 1024
    reads = {
        (n, d): moved(n, d, largest_tile(memory, n, d)).k_v
        for n, d in [(2048, 64), (4096, 64), (2048, 128)]
    }
    assert reads[4096, 64] == reads[2048, 128] == 4 * reads[2048, 64]


def test_up_to_sixteen_the_loop_moves_more_than_the_five_stages():
    more = [
        2**i for i in range(12) if moved(2048, 64, 2**i).bytes > five_stages(2048, 64).bytes
    ]
    assert more == [1, 2, 4, 8, 16]


def test_what_does_not_fit_is_refused_with_a_repair():
    with pytest.raises(ValueError, match=r"memory=1,024 bytes hold no tile.*take memory=1036"):
        largest_tile(1024, 2048, 64)
    assert largest_tile(1036, 2048, 64) == 1
    assert largest_tile(10**9, 2048, 64) == 2048
    with pytest.raises(ValueError, match="tile=5 does not divide n=16"):
        moved(16, 4, 5)
