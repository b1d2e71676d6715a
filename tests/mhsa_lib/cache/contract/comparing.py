"""What a cache knows, and what every sequence gets where it is alone."""

from functools import partial

from torch import testing

assert_close = partial(testing.assert_close, rtol=0, atol=1e-10)


def kept(cache):
    """What a cache knows and holds of the tokens so far, to compare before and after."""
    if isinstance(cache, dict):
        table = cache.positions
        tables = table.table.tolist(), table.lengths.tolist(), table.uniform
        return *tables, {name: wire.tolist() for name, wire in cache.items()}
    n = min(cache.n_tokens, cache.ring.n_slots)
    return cache.lengths, {name: t[:, :, :n].tolist() for name, t in cache.memory.items()}


def as_if_alone(kind, texts, found):
    """Every sequence got the numbers it gets alone: x and y of each, (token, d_model)."""
    for x, y in zip(texts, found, strict=True):
        assert_close(y, kind.alone(x[None])[0][-len(y) :])
