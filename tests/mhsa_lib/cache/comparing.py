"""What a cache knows, and what every sequence gets where it is alone."""

from functools import partial

from torch import testing

assert_close = partial(testing.assert_close, rtol=0, atol=1e-10)


def kept(cache):
    """All that later calls can see of a cache: lengths, and every token still in reach."""
    ends = [cache.lengths] if isinstance(cache.lengths, int) else cache.lengths
    seen = {}
    for name, wire in cache.wires.items():
        slots, axis = wire.shape[cache._state.axes[name]], cache._state.axes[name]
        for i, end in enumerate(ends):
            first = 0 if cache.ring is None else max(0, end - cache.ring + 1)
            tokens = [position % slots for position in range(first, end)]
            seen[name, i] = wire[i].movedim(axis, 0)[tokens].tolist()
    return ends, seen, cache.bytes


def as_if_alone(kind, texts, found):
    """Every sequence got the numbers it gets alone: x and y of each, (token, d_model)."""
    for x, y in zip(texts, found, strict=True):
        assert_close(y, kind.alone(x[None])[0][-len(y) :])
