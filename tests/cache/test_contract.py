"""What every cache owes, whichever attention it belongs to and however it keeps its tokens."""

from functools import partial

import pytest
import torch
from torch import nn, testing

from mhsa_lib import FusedMultiHeadAttention, masks, trace_ops
from mhsa_lib.cache.positions import left_padded, right_padded
from mhsa_lib.cache.remembering import remember
from mhsa_lib.fused.latent import FusedLatentAttention
from mhsa_lib.rope.rotary import Rotary
from mhsa_lib.rope.rotary_split import RotarySplit
from mhsa_lib.variants import GroupedQueryAttention, LatentAttention
from tests.helpers.drawn import filled, rand

assert_close = partial(testing.assert_close, rtol=0, atol=1e-10)
LENGTH = 12


def randomized(attention):
    return filled(attention).double().eval()


class Growing:
    """``remember``: tensors that grow."""

    def __init__(self, make):
        self.make = make

    def open(self, batch, *, window=None, length=LENGTH):
        self.attention = self.make()
        self.block = remember(self.attention, length=length, window=window)
        self.cache = self.block.__enter__()
        self.rule = masks.causal if window is None else masks.sliding_window(window)
        return self

    def close(self):
        self.block.__exit__(None, None, None)

    def call(self, x, mask=None, context=None):
        return self.attention(x, context, self.rule if mask is None else mask)

    def plainly(self, x, mask=None):
        return self.attention(x, mask=mask)

    def alone(self, x):
        self.close()
        return self.attention(x, mask=self.rule)

    def moved(self, *args):
        self.attention.to(*args)


class Taken(Growing):
    """Memory that is taken once."""

    def open(self, batch, *, window=None, length=LENGTH):
        self.attention = self.make()
        length = None if window else length
        self.cache = self.attention.cache(batch, length, window=window)
        self.rule = self.cache.ring.rule
        return self

    def close(self):
        pass

    def call(self, x, mask=None, context=None):
        mask = self.rule if mask is None else mask
        return self.attention(x, context, mask, cache=self.cache)

    def plainly(self, x, mask=None):
        return self.attention(x, mask=mask, cache=self.cache)


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


def fused():
    return randomized(FusedMultiHeadAttention(12, 6, n_kv_heads=2, bias=True))


def latent():
    return randomized(LatentAttention(12, 3, d_latent=5, d_rope=4))


def rotary():
    split = RotarySplit(6, Rotary(2, base=10.0), 2)
    return randomized(GroupedQueryAttention(12, 6, 2, split=split))


CACHES = {
    "growing": lambda: Growing(rotary),
    "growing latents": lambda: Growing(latent),
    "taken": lambda: Taken(fused),
    "taken latents": lambda: Taken(lambda: FusedLatentAttention.from_attention(latent())),
}


@pytest.fixture(params=CACHES)
def kind(request):
    made = CACHES[request.param]()
    yield made
    if hasattr(made, "cache"):
        made.close()


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


# --- parts, lengths, windows -----------------------------------------------------------------


@pytest.mark.parametrize("window", [None, 3])
def test_any_parts_of_a_text_are_one_pass(kind, window):
    x = rand(2, 9, 12)
    kind.open(2, window=window)
    found = torch.cat([kind.call(part) for part in x.split([4, 1, 2, 1, 1], dim=1)], dim=1)
    assert kind.cache.lengths == [9, 9]
    assert_close(found, kind.alone(x))


@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize("padded", [left_padded, right_padded])
def test_padding_is_as_if_it_were_not_there(kind, padded, window):
    positions, x, later = padded([4, 1]), rand(2, 4, 12), rand(2, 3, 12)
    kind.open(2, window=window).cache.announce(positions)
    y = kind.call(x)
    steps = [kind.call(token) for token in later.split(1, dim=1)]
    assert kind.cache.lengths == [7, 4]
    texts = [torch.cat([x[i, row >= 0], later[i]]) for i, row in enumerate(positions)]
    steps = torch.cat(steps, dim=1)
    as_if_alone(
        kind, texts, [torch.cat([y[i, row >= 0], steps[i]]) for i, row in enumerate(positions)]
    )


@pytest.mark.parametrize("window", [None, 3])
def test_another_default_device_changes_nothing(kind, window):
    x, later = rand(2, 4, 12), rand(2, 3, 12)
    kind.open(2, window=window)
    with torch.device("meta"):
        kind.cache.forget()
        kind.cache.announce([[0, 1, 2, -1], [0, 1, 2, 3]])
        kind.call(x)
        kind.cache.reorder([0, 0])
        steps = [kind.call(token) for token in later.split(1, dim=1)]
    expected = kind.alone(torch.cat([x[:1, :3], later[:1]], dim=1))
    assert_close(torch.cat(steps, dim=1)[:1], expected[:, -3:])


def test_memory_that_was_taken_for_inference_is_written_to_outside_of_it():
    x, attention = rand(2, 5, 12), fused()
    with torch.inference_mode():
        cache = attention.cache(2, 6)
        first = attention.prefill(x[:, :3], cache)
    with torch.no_grad():
        rest = attention.prefill(x[:, 3:], cache)
        whole = attention(x, mask=masks.causal)
    assert_close(torch.cat([first, rest], dim=1), whole)


MASKS = [None, masks.causal, masks.sliding_window(5), masks.prefix(2)]


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("parts", [(6,), (1,) * 6, (4, 1, 1)], ids=str)
def test_under_a_window_nobody_looks_past_it_however_the_text_is_cut(kind, mask, parts):
    x = rand(2, 6, 12)
    kind.open(2, window=2)
    given = {} if mask is None else {"mask": mask}
    found = torch.cat([kind.plainly(part, **given) for part in x.split(parts, dim=1)], dim=1)
    assert_close(found, kind.alone(x))


@pytest.mark.bothways
def test_under_a_window_a_tensor_is_refused(kind):
    kind.open(2, window=2)
    with pytest.raises(TypeError, match="under a window no slot has a position of its own"):
        kind.call(rand(2, 3, 12), mask=torch.ones(3, 3).bool())


@pytest.mark.bothways
@pytest.mark.parametrize("make", [fused, lambda: FusedLatentAttention.from_attention(latent())])
def test_lengths_and_an_announcement_do_not_go_together(make):
    attention, x = make(), rand(2, 2, 12)
    cache = attention.cache(2, 4)
    cache.announce([[0, 1], [0, -1]])
    with pytest.raises(ValueError, match="positions were announced for this call, and lengths"):
        attention.prefill(x, cache, [2, 1])
    attention.prefill(x, cache)
    assert cache.lengths == [2, 1]


def test_a_forgotten_cache_is_a_new_one(kind):
    kind.open(2).call(rand(2, 3, 12))
    kind.cache.announce([[3], [-1]])
    kind.cache.forget()
    assert kind.cache.lengths in ([0, 0], 0)
    x = rand(2, 4, 12)
    assert_close(kind.call(x), kind.alone(x))


# --- calls that fail -------------------------------------------------------------------------

FAILING = {
    "another batch": (
        lambda k: k.call(rand(3, 1, 12)),
        ValueError,
        "but x has \\(3,\\); go on",
    ),
    "more axes": (
        lambda k: k.call(rand(2, 2, 1, 12)),
        ValueError,
        "but x has \\(2, 2\\)|leading",
    ),
    "no room": (
        lambda k: k.call(rand(2, 10, 12)),
        ValueError,
        "12 tokens of a sequence, 3 have come and 10 more come; give it a length of 13 or more",
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
    x = rand(2, 4, 12)
    first = kind.open(2).call(x[:, :3])
    before = kept(kind.cache)
    with pytest.raises(error, match=words):
        call(kind)
    assert kept(kind.cache) == before
    last = kind.call(x[:, 3:])
    assert_close(torch.cat([first, last], dim=1), kind.alone(x))


@pytest.mark.bothways
def test_a_model_that_moved_to_another_precision_is_refused(kind):
    x = rand(2, 4, 12)
    first = kind.open(2).call(x[:, :3])
    before = kept(kind.cache)
    kind.moved(torch.float32)
    with pytest.raises(ValueError, match=r"float64.*float32|float32.*float64"):
        kind.call(x[:, 3:].float())
    assert kept(kind.cache) == before
    assert first.shape == (2, 3, 12)


@pytest.mark.bothways
def test_a_model_that_moved_to_another_device_is_refused(kind):
    kind.open(2).call(rand(2, 3, 12))
    before = kept(kind.cache)
    kind.moved("meta")
    words = "the cache is on cpu, but x is on meta; move x, or start another cache there"
    with pytest.raises(ValueError, match=words):
        kind.call(rand(2, 1, 12).to("meta"))
    assert kept(kind.cache) == before


LATER = {
    "a context": (
        lambda k, x: k.call(x, context=rand(2, 4, 12)),
        ValueError,
        "a context was given",
    ),
    "a mask of numbers": (lambda k, x: k.call(x, torch.ones(2, 5)), TypeError, "not bool"),
    "another dtype": (lambda k, x: k.call(x.float()), ValueError, "torch.float32"),
    "another batch": (lambda k, x: k.call(x[:1]), ValueError, r"but x has \(1,\)"),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", LATER)
def test_an_announcement_waits_for_the_call_that_succeeds(kind, name):
    """The call again is what the first would have been."""
    call, error, words = LATER[name]
    x = rand(2, 5, 12)
    kind.open(2).call(x[:, :3])
    kind.cache.announce([[3, 4], [3, -1]])
    with pytest.raises(error, match=words):
        call(kind, x[:, 3:])
    y = kind.call(x[:, 3:])
    assert kind.cache.lengths == [5, 4]
    as_if_alone(kind, [x[0], x[1, :4]], [y[0], y[1, :1]])


@pytest.mark.bothways
def test_an_announcement_can_be_taken_back(kind):
    x = rand(2, 4, 12)
    kind.open(2).call(x[:, :3])
    kind.cache.announce([[3], [-1]])
    kind.cache.announce(None)
    kind.call(x[:, 3:])
    assert kind.cache.lengths == [4, 4]


POSITIONS = {
    "a gap": (
        [[4], [3]],
        r"positions \[4\] do not continue a sequence of 3 tokens; they go on",
    ),
    "no number": ([[3], [-2]], r"positions \[-2\] do not continue a sequence of 3 tokens"),
    "too many": (
        [[3, 4], [3, 4]],
        r"positions \(2, 2\) were announced, but x has \(2, 1\) tok",
    ),
    "another batch": ([[3]] * 3, r"positions \(3, 1\) were announced, but x has \(2, 1\)"),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", POSITIONS)
def test_an_announcement_that_does_not_fit_is_refused_until_another_is_made(kind, name):
    positions, words = POSITIONS[name]
    x = rand(2, 4, 12)
    first = kind.open(2).call(x[:, :3])
    before = kept(kind.cache)
    kind.cache.announce(positions)
    for _ in range(2):  # dropped after the first, it would let padding count as tokens
        with pytest.raises(ValueError, match=words):
            kind.call(x[:, 3:])
    assert kept(kind.cache) == before
    kind.cache.announce(None)
    assert_close(torch.cat([first, kind.call(x[:, 3:])], dim=1), kind.alone(x))


@pytest.mark.bothways
@pytest.mark.parametrize("positions", [[[0.5]], [[True]], 3])
def test_positions_are_whole_numbers(kind, positions):
    with pytest.raises(TypeError, match="positions are whole numbers, one for each"):
        kind.open(1).cache.announce(positions)


# --- another order: beam search --------------------------------------------------------------


@pytest.mark.parametrize("window", [None, 2])
def test_a_reordered_sequence_goes_on_from_the_one_it_was(kind, window):
    """Positions and lengths move along, of padded sequences too."""
    lengths, order = [4, 1, 2], [2, 2, 0]
    positions, x, later = right_padded(lengths), rand(3, 4, 12), rand(3, 3, 12)
    kind.open(3, window=window).cache.announce(positions)
    kind.call(x)
    kind.cache.reorder(order)
    assert kind.cache.lengths == [2, 2, 4]
    steps = torch.cat([kind.call(token) for token in later.split(1, dim=1)], dim=1)
    assert kind.cache.lengths == [5, 5, 7]
    texts = [torch.cat([x[j, : lengths[j]], later[i]]) for i, j in enumerate(order)]
    as_if_alone(kind, texts, steps)


def test_an_order_may_be_a_tensor_and_the_same_order_changes_nothing(kind):
    x = rand(2, 4, 12)
    first = kind.open(2).call(x[:, :3])
    before = kept(kind.cache)
    kind.cache.reorder(torch.tensor([0, 1], dtype=torch.int32))
    assert kept(kind.cache) == before
    assert_close(torch.cat([first, kind.call(x[:, 3:])], dim=1), kind.alone(x))


def vocabulary():
    """A language model of one attention: embedding, attention, logits."""
    return filled(nn.Embedding(9, 12)).double(), filled(nn.Linear(12, 9, bias=False)).double()


def best(scores, n):
    """The n best continuations (which beam, which token) of (beam, token) scores."""
    value, place = scores.flatten().topk(n)
    return value, place // scores.shape[-1], place % scores.shape[-1]


def scored(kind, embed, logits, text):
    """The log-probability of every text (beam, token) after its first token, with no cache."""
    log_p = logits(kind.alone(embed(text))).log_softmax(dim=-1)
    return log_p[:, :-1].gather(2, text[:, 1:, None]).sum(dim=(1, 2))


def test_beam_search_gives_every_hypothesis_the_score_it_has_from_scratch(kind):
    n_beams, n_steps = 3, 6
    embed, logits = vocabulary()
    kind.open(n_beams)
    text = torch.full((n_beams, 1), 4)
    scores = torch.tensor([0.0] + [-torch.inf] * (n_beams - 1)).double()
    crossed = False
    for _ in range(n_steps):
        log_p = logits(kind.call(embed(text[:, -1:]))[:, -1]).log_softmax(dim=-1)
        scores, beam, token = best(scores[:, None] + log_p, n_beams)
        crossed |= len(text[0]) > 1 and beam.tolist() != list(range(n_beams))
        kind.cache.reorder(beam)
        text = torch.cat([text[beam], token[:, None]], dim=1)
    assert crossed, "no beam took another's place: the search shows nothing"
    assert len({tuple(row) for row in text.tolist()}) == n_beams
    assert_close(scores, scored(kind, embed, logits, text))


BAD_ORDERS = {
    "too high": (
        [0, 2],
        ValueError,
        r"order \[0, 2\] does not choose from 2 sequences; .*0 to 1",
    ),
    "below zero": ([0, -1], ValueError, r"order \[0, -1\] does not choose from 2 sequences"),
    "of none": (torch.zeros(0).long(), ValueError, r"order \[\] does not choose from 2 seq"),
    "more axes": ([[0, 1]], ValueError, r"order \(1, 2\) cannot reorder leading axes \(2,\)"),
    "no axis": (1, TypeError, "order are whole numbers, one for each"),
    "halves": ([0.0, 1.0], TypeError, "order are whole numbers, one for each"),
    "nothing": (None, TypeError, "order are whole numbers, one for each, not None"),
    "a choice": ([True, False], TypeError, "order are whole numbers, one for each"),
}


@pytest.mark.bothways
@pytest.mark.parametrize("name", BAD_ORDERS)
def test_an_order_that_is_none_is_refused(kind, name):
    order, error, words = BAD_ORDERS[name]
    kind.open(2).call(rand(2, 3, 12))
    before = kept(kind.cache)
    with pytest.raises(error, match=words):
        kind.cache.reorder(order)
    assert kept(kind.cache) == before


@pytest.mark.bothways
def test_a_reorder_at_the_wrong_moment_is_refused(kind):
    kind.open(2)
    with pytest.raises(ValueError, match="the cache is empty, there is nothing to reorder"):
        kind.cache.reorder([0, 1])
    kind.call(rand(2, 3, 12))
    kind.cache.announce([[3], [-1]])
    with pytest.raises(ValueError, match="an announcement waits for the next call; make that"):
        kind.cache.reorder([1, 0])
    kind.call(rand(2, 1, 12))
    kind.cache.reorder([1, 0])
    assert kind.cache.lengths == [3, 4]
    kind.cache.forget()
    with pytest.raises(ValueError, match="the cache is empty"):
        kind.cache.reorder([0, 1])


@pytest.mark.bothways
def test_where_memory_grows_sequences_may_become_more_and_where_it_was_taken_not(kind):
    x, later = rand(2, 3, 12), rand(3, 2, 12)
    kind.open(2).call(x)
    if isinstance(kind, Taken):
        words = "order names 3 sequences, but memory was taken for 2; name as many"
        with pytest.raises(ValueError, match=words):
            kind.cache.reorder([1, 1, 0])
        return
    kind.cache.reorder([1, 1, 0])
    assert kind.cache.lengths == [3, 3, 3]
    found = kind.call(later)
    as_if_alone(kind, [torch.cat([x[j], later[i]]) for i, j in enumerate((1, 1, 0))], found)


@pytest.mark.bothways
@pytest.mark.parametrize("batch", [(), (2, 2)])
def test_several_leading_axes_or_none_are_not_reordered(batch):
    attention = rotary()
    with remember(attention) as cache:
        attention(rand(*batch, 3, 12))
        with pytest.raises(ValueError, match=r"cannot reorder leading axes .*both need"):
            cache.reorder([0, 1])


def test_a_beam_that_stays_is_not_copied():
    attention = fused()
    cache = attention.cache(3, 40)
    attention.prefill(rand(3, 30, 12), cache)
    ops = trace_ops(lambda: cache.reorder([0, 1, 0]))
    row = cache.k[:1, :, :30]
    copies = [op.bytes for op in ops if op.result == "copy"]
    assert max(copies) == row.numel() * row.element_size()
