"""A call that fails changes nothing."""

import pytest
import torch

from mhsa_lib.fused.latent import FusedLatentAttention
from tests.helpers.drawn import rand
from tests.helpers.padded import right_padded
from tests.mhsa_lib.cache.breaking import breaks
from tests.mhsa_lib.cache.comparing import as_if_alone, assert_close, kept


def failing(kind):
    """One call of which the very last part fails."""
    attention = getattr(kind.attention, "attention", kind.attention)

    def out_of_memory(module, args):
        raise RuntimeError("out of memory")

    handle = attention.W_O.register_forward_pre_hook(out_of_memory)
    try:
        kind.call(rand(2, 1, 12))
    finally:
        handle.remove()


FAILING = {
    "another batch": (
        lambda k: k.call(rand(3, 1, 12)),
        ValueError,
        "but x has \\(3,\\) on cpu; go on",
    ),
    "more axes": (
        lambda k: k.call(rand(2, 2, 1, 12)),
        ValueError,
        "but x has \\(2, 2\\)|leading",
    ),
    "no room": (
        lambda k: k.call(rand(2, 10, 12)),
        ValueError,
        "3 have come and 10 more come; give it a max_length of 13 or more",
    ),
    "a context": (
        lambda k: k.call(rand(2, 1, 12), context=rand(2, 4, 12)),
        ValueError,
        "a cache grows with x, but a context was given",
    ),
    "a wrong width": (lambda k: k.call(rand(2, 1, 8)), ValueError, "x is 8 wide"),
    "whole numbers": (
        lambda k: k.call(torch.ones(2, 1, 12, dtype=torch.long)),
        TypeError,
        "x has dtype torch.int64; attention needs floating point",
    ),
    "a sparse tensor": (
        lambda k: k.call(rand(2, 1, 12).to_sparse()),
        TypeError,
        "x has the layout torch.sparse_coo; pass a dense tensor",
    ),
    "a nested tensor": (
        lambda k: k.call(torch.nested.nested_tensor([rand(1, 12)] * 2, layout=torch.jagged)),
        TypeError,
        "x is a nested tensor; pass a dense one",
    ),
    "a mask of numbers": (
        lambda k: k.call(rand(2, 1, 12), torch.ones(1, 4)),
        TypeError,
        "mask has dtype torch.float32, not bool",
    ),
    "a mask that does not fit": (
        lambda k: k.call(rand(2, 1, 12), torch.ones(1, 9).bool()),
        ValueError,
        r"mask \(1, 9\) does not fit scores \(2, \d, 1, 4\)",
    ),
    "another dtype of x": (
        lambda k: k.call(rand(2, 1, 12).float()),
        ValueError,
        "torch.float32",
    ),
    "W_O fails": (failing, RuntimeError, "out of memory"),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", FAILING)
def test_a_call_that_fails_changes_nothing(kind, name):
    call, error, words = FAILING[name]
    if name == "no room" and kind.grows:
        return
    x = rand(2, 4, 12)
    first = kind.open().call(x[:, :3])
    before = kept(kind.cache)
    with pytest.raises(error, match=words):
        call(kind)
    assert kept(kind.cache) == before
    last = kind.call(x[:, 3:])
    assert_close(torch.cat([first, last], dim=1), kind.alone(x))


@pytest.mark.bothways
def test_a_model_that_moved_to_another_precision_is_refused(kind):
    x = rand(2, 4, 12)
    first = kind.open().call(x[:, :3])
    before = kept(kind.cache)
    kind.moved(torch.float32)
    with pytest.raises(ValueError, match=r"float64.*float32|float32.*float64"):
        kind.call(x[:, 3:].float())
    assert kept(kind.cache) == before
    assert first.shape == (2, 3, 12)


@pytest.mark.bothways
def test_a_model_that_moved_to_another_device_is_refused(kind):
    kind.open().call(rand(2, 3, 12))
    before = kept(kind.cache)
    kind.moved("meta")
    words = r"on cpu, but x has \(2,\) on meta; go on with those, or start another cache"
    with pytest.raises(ValueError, match=words):
        kind.call(rand(2, 1, 12).to("meta"))
    assert kept(kind.cache) == before


# --- everywhere it can fail ------------------------------------------------------------------


@pytest.mark.nohook  # other tests check these shapes, of fewer calls
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("n_tokens", [1, 3])
@pytest.mark.parametrize("window", [None, 3])
def test_wherever_a_call_fails_it_is_as_if_it_had_not_been(kind, window, n_tokens, when):
    """At every module, with NaN in every slot that was written; then the sequences go on."""
    x, later, lengths = rand(2, 4, 12), rand(2, 3, 12), [4, 2]
    wrong, failed = torch.full((2, n_tokens, 12), float("nan")).double(), []
    for path, _ in kind.make().named_modules():
        if not path and when == "after":
            continue  # a hook on the attention itself runs when the call has succeeded
        kind.open(window=window).call(x, positions=right_padded(lengths))
        before = kept(kind.cache)
        handle = breaks(kind.attention.get_submodule(path), when)
        try:
            kind.call(wrong)
        except (RuntimeError, KeyboardInterrupt):
            failed.append(path)
        except ValueError:
            assert isinstance(kind.attention, FusedLatentAttention)  # which refuses such hooks
        else:
            continue  # not called in this pass
        finally:
            handle.remove()
        assert kept(kind.cache) == before, path
        positions = [[4, 5, 6], [-1, 2, 3]]
        y = kind.call(later, positions=positions)
        step = kind.call(later[:, :1])
        texts = [torch.cat([x[i, : lengths[i]], later[i, i:], later[i, :1]]) for i in range(2)]
        as_if_alone(kind, texts, [torch.cat([y[i, i:], step[i]]) for i in range(2)])
    assert len(failed) >= 2


def test_numbers_of_a_long_call_that_failed_stay_away_for_good(kind):
    """They are behind the slots that the next call uses, and a later one gets there."""
    x, step, later = rand(2, 3, 12), rand(2, 1, 12), rand(2, 3, 12)
    kind.open().call(x, positions=right_padded([3, 1]))
    attention = getattr(kind.attention, "attention", kind.attention)
    handle = attention.W_O.register_forward_pre_hook(lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        kind.call(torch.full((2, 6, 12), float("nan")).double())
    handle.remove()
    kind.call(step)
    found = kind.call(later, positions=[[4, 5, 6], [2, -1, -1]])
    last = kind.call(step)
    texts = [
        torch.cat([x[0], step[0], later[0], step[0]]),
        torch.cat([x[1, :1], step[1], later[1, :1], step[1]]),
    ]
    as_if_alone(
        kind, texts, [torch.cat([found[0], last[0]]), torch.cat([found[1, :1], last[1]])]
    )


def test_k_and_v_are_reordered_together_or_not_at_all(kind, monkeypatch):
    x = rand(2, 4, 12)
    kind.open().call(x[:, :3], positions=[[0, 1, 2], [0, -1, -1]])
    before = kept(kind.cache)
    names = []

    def out_of_memory(self, dim, index):
        names.append(dim)
        if len(names) == 2 or len(kind.cache.wires) == 1:
            raise MemoryError
        return select(self, dim, index)

    select = torch.Tensor.index_select
    monkeypatch.setattr(torch.Tensor, "index_select", out_of_memory)
    with pytest.raises(MemoryError):
        kind.cache.reorder([1, 0])
    monkeypatch.undo()
    assert names
    assert kept(kind.cache) == before
    y = kind.call(x[:, 3:])
    as_if_alone(kind, [x[0], torch.cat([x[1, :1], x[1, 3:]])], y)


@pytest.mark.parametrize("name", ["cat", "zeros", "arange"])
def test_without_memory_for_one_more_tensor_nothing_changes(kind, name, monkeypatch):
    """Each call of a function of torch in turn finds no memory, until the pass succeeds."""
    x = rand(2, 5, 12)
    kind.open(window=3).call(x[:, :3])
    before, real = kept(kind.cache), getattr(torch, name)
    for n_before in range(20):
        count = iter(range(100))

        def function(*args, count=count, n_before=n_before, **options):
            if next(count) == n_before:
                raise MemoryError
            return real(*args, **options)

        monkeypatch.setattr(torch, name, function)
        try:
            y = kind.call(x[:, 3:])
        except MemoryError:
            assert kept(kind.cache) == before
        else:
            break
        finally:
            monkeypatch.undo()
    assert_close(y, kind.alone(x)[:, 3:])
