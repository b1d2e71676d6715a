"""A model taken apart: against the same computed step by step with plain tensors."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_book.models.running import AT_ONCE
from mhsa_lib import edit
from tests.mhsa_book.models.small import D_HEAD, HEADS, KV_HEADS, LAYERS, Plain, small

TEXT, OTHER = "the cat sat", "a mat fell."
OVER = ["the mat lay down there", "who was it, then", "cat and dog and me"]


@pytest.fixture
def lm():
    return small()


@pytest.fixture
def plain(lm):
    return Plain(lm)


def close(found, expected, atol=1e-4):
    assert_close(found.double(), expected, atol=atol, rtol=1e-4)


def test_the_plain_model_is_the_model(lm, plain):
    logits, found, _ = plain.run(lm.ids(TEXT))
    close(lm.logits(TEXT), logits)
    z = lm.heads(TEXT)
    assert z.shape == (LAYERS, HEADS, 9, D_HEAD)
    for head, expected in found.items():
        close(z[head], expected)


def test_tokens_of_merged_bytes(lm):
    assert lm.tokens(TEXT)[:3] == ["the", " ", "c"]
    assert lm.tokens("é") == ["<0xC3>", "<0xA9>"]
    assert lm.text(lm.ids("é")) == "é"
    assert lm.text(lm.ids("é")[:1]) == "\ufffd"


def test_next_is_the_softmax_of_the_last_logits(lm, plain):
    p = plain.run(lm.ids(TEXT))[0][-1].softmax(-1)
    for token, probability in lm.next(TEXT, k=7):
        assert probability == pytest.approx(p[lm.id(token)].item(), abs=1e-5)
    assert lm.next(TEXT, k=1)[0][0] == lm.vocabulary()[int(p.argmax())]


@pytest.mark.parametrize("cache", [True, False])
def test_every_new_token_is_the_likeliest(cache, lm, plain):
    ids = lm.ids(TEXT)
    for _ in range(12):
        ids.append(int(plain.run(ids)[0][-1].argmax()))
    assert lm.generate(TEXT, 12, cache=cache) == lm.text(ids[-12:])


# --- heads switched off ------------------------------------------------------------------

OFF = [(0, 1), (2, 3), (2, 0)]


def expected_without(lm, plain, heads, instead):
    """The logits of TEXT with given z: ``instead(found, head)`` is (token, d_head)."""
    return plain.run(lm.ids(TEXT), z={head: instead(head) for head in heads})[0]


def found_in(lm, plain, texts):
    return [plain.run(lm.ids(text))[1] for text in texts]


def test_zero(lm, plain):
    n = len(lm.ids(TEXT))
    zeros = torch.zeros(n, D_HEAD).double()
    with lm.without(OFF):
        close(lm.logits(TEXT), expected_without(lm, plain, OFF, lambda head: zeros))
    close(lm.logits(TEXT), plain.run(lm.ids(TEXT))[0])


def test_mean(lm, plain):
    n, found = len(lm.ids(TEXT)), found_in(lm, plain, OVER)

    def mean(head):
        return torch.cat([each[head] for each in found]).mean(0).expand(n, -1)

    with lm.without(OFF, how="mean", over=OVER):
        close(lm.logits(TEXT), expected_without(lm, plain, OFF, mean))


def test_resample_takes_every_head_from_one_prompt_at_its_own_positions(lm, plain):
    n, found = len(lm.ids(TEXT)), found_in(lm, plain, OVER)
    possible = [
        expected_without(lm, plain, OFF, lambda head, each=each: each[head][:n])
        for each in found
    ]
    chosen = []
    with lm.without(OFF, how="resample", over=OVER, seed=3):
        for _ in range(12):
            logits = lm.logits(TEXT).double()
            near = [torch.allclose(logits, each, atol=1e-3) for each in possible]
            assert sum(near) == 1
            chosen.append(near.index(True))
    assert {*chosen} == {0, 1, 2}
    with lm.without(OFF, how="resample", over=OVER, seed=3):
        again = lm.logits(TEXT).double()
    close(again, possible[chosen[0]], atol=1e-3)


def test_resample_takes_neither_the_text_itself_nor_a_shorter_one(lm, plain):
    found = found_in(lm, plain, [OVER[0]])[0]
    n = len(lm.ids(TEXT))
    with lm.without(OFF, how="resample", over=[TEXT, "cat", OVER[0]]):
        for _ in range(5):
            expected = expected_without(lm, plain, OFF, lambda head: found[head][:n])
            close(lm.logits(TEXT), expected)


def test_resample_refuses_a_text_that_no_prompt_reaches(lm):
    with lm.without(OFF, how="resample", over=["cat", TEXT]):
        words = r"a text of 9 tokens needs a prompt in over .* those in over have \[3\]: give"
        with pytest.raises(ValueError, match=words):
            lm.next(TEXT)
        with pytest.raises(ValueError, match="a text of 12 tokens needs"):
            lm.generate("dog", 9)
    lm.next(TEXT)


@pytest.mark.parametrize("how", ["zero", "mean", "resample"])
def test_text_is_written_the_same_with_and_without_a_cache(how, lm):
    heads = [(1, 0), (1, 2), (2, 1)]
    with lm.without(heads, how=how, over=OVER):
        cached = lm.generate("cat", 10)
    with lm.without(heads, how=how, over=OVER):
        assert lm.generate("cat", 10, cache=False) == cached
    assert cached != lm.generate("cat", 10)


def test_texts_that_are_read_together_find_what_each_finds_alone(lm):
    """More texts of one length than go into a pass, and among them others, of one token too."""
    runner = lm._runner
    texts = [lm.ids(f"{letter}at{'s' * (i % 3)}") for i, letter in enumerate(54 * "cbr")]
    texts[5:7] = [[7], [8]]
    assert sum(len(ids) == len(texts[0]) for ids in texts) > AT_ONCE
    together = runner.heads_of(texts, [2, 0, 2])
    assert [*together] == [0, 2]
    for layer, found in together.items():
        for ids, z in zip(texts, found, strict=True):
            assert_close(z, runner.heads(ids)[layer])


def test_weights_of_several_texts_are_those_of_each_text(lm):
    texts = [TEXT, "cat", "b", "bat", TEXT[1:]]
    for text, (tokens, weights) in zip(texts, lm.attend_each(texts), strict=True):
        alone = lm.attend(text)
        assert tokens == alone[0]
        assert_close(weights, alone[1])
    assert lm.attend_each([]) == []
    with pytest.raises(TypeError, match=r"texts is one string; pass a list of texts, \['cat'"):
        lm.attend_each("cat")
    with lm.without(OFF), pytest.raises(ValueError, match=r"\(0, 1\).* one text at a time"):
        lm.attend_each(texts)


def test_all_heads_of_a_layer_off_leave_its_weights_to_be_seen(lm):
    with lm.without([(0, head) for head in range(HEADS)]):
        _, weights = lm.attend(TEXT)
    assert_close(weights[0], lm.attend(TEXT)[1][0])
    assert not torch.allclose(weights[1], lm.attend(TEXT)[1][1])


@pytest.mark.parametrize("how", ["zero", "mean", "resample"])
def test_nested_blocks_are_one_block_of_all_heads(how, lm):
    with lm.without(OFF, how=how, over=OVER[:1]):
        expected = lm.logits(TEXT)
    with lm.without(OFF[:1], how=how, over=OVER[:1]):
        with lm.without(OFF[1:], how=how, over=OVER[:1]):
            assert_close(lm.logits(TEXT), expected)
        inner_gone = lm.logits(TEXT)
    with lm.without(OFF[:1], how=how, over=OVER[:1]):
        assert_close(lm.logits(TEXT), inner_gone)


def test_a_head_that_is_off_is_not_switched_off_again(lm):
    before = lm.logits(TEXT)
    with lm.without(OFF[:2]):
        inside = lm.logits(TEXT)
        with pytest.raises(ValueError, match=r"heads \[\(2, 3\)\] are off already"):
            lm.without([(2, 3), (1, 1)]).__enter__()
        assert_close(lm.logits(TEXT), inside)
    assert_close(lm.logits(TEXT), before)


def test_everything_is_as_before_after_an_error(lm):
    before = lm.logits(TEXT)
    with pytest.raises(ZeroDivisionError), lm.without(OFF, how="mean", over=OVER):
        raise ZeroDivisionError
    with pytest.raises(ValueError, match="has no tokens"):
        lm.without(OFF, how="mean", over=["cat", ""]).__enter__()
    with pytest.raises(ValueError, match="there is no head"):
        lm.without([(0, 1), (3, 0)]).__enter__()
    assert_close(lm.logits(TEXT), before)
    assert lm._switches.off == set()


def test_an_interrupted_measurement_leaves_nothing_suspended(lm, monkeypatch):
    def stop(texts, layers):
        raise KeyboardInterrupt

    with lm.without(OFF[:1]):
        expected = lm.logits(TEXT)
        with monkeypatch.context() as patch:
            patch.setattr(lm._runner, "heads_of", stop)
            with pytest.raises(KeyboardInterrupt):
                lm.without(OFF[1:], how="mean", over=OVER).__enter__()
        assert_close(lm.logits(TEXT), expected)


def test_no_head_off_is_the_model(lm):
    before = lm.logits(TEXT)
    with lm.without([]):
        assert_close(lm.logits(TEXT), before)
    with lm.without([], how="mean", over=OVER):
        assert_close(lm.logits(TEXT), before)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"how": "median"}, "how='median' is none of zero, mean, resample"),
        ({"how": "mean"}, r"how='mean' averages over prompts; pass over=\[…\]"),
        ({"how": "resample", "over": []}, r"how='resample' draws from prompts; pass over="),
        ({"heads": [(0, 4)]}, r"no head \(0, 4\); small has layers 0 to 2 with heads 0 to 3"),
        ({"heads": [(-1, 0)]}, r"there is no head \(-1, 0\)"),
    ],
)
def test_what_cannot_be_switched_off_so(given, words, lm):
    with pytest.raises(ValueError, match=words):
        lm.without(**{"heads": OFF} | given).__enter__()


@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"how": "mean", "over": "the cat"}, r"over is one string; pass a list of texts"),
        ({"heads": [3]}, r"heads: 3 is no head; write \(layer, head\)"),
        ({"heads": [(1, 2, 3)]}, r"\(1, 2, 3\) is no head"),
        ({"heads": [(1.0, 2)]}, r"\(1\.0, 2\) is no head"),
    ],
)
def test_what_is_no_list_of_heads_or_texts(given, words, lm):
    with pytest.raises(TypeError, match=words):
        lm.without(**{"heads": OFF} | given).__enter__()


# --- contributions -----------------------------------------------------------------------


def test_contributions_sum_to_the_logit(lm):
    for token in ("e", "the", " "):
        shares = lm.contributions(TEXT, token)
        total = shares.embedding + shares.heads.sum() + shares.mlps.sum()
        assert shares.logit == pytest.approx(lm.logits(TEXT)[-1, lm.id(token)].item(), abs=1e-5)
        assert total.item() == pytest.approx(shares.logit, abs=1e-4)


def test_a_contribution_is_what_the_part_wrote_along_the_token_over_the_same_rms(lm, plain):
    shares, ids = lm.contributions(TEXT, "the"), lm.ids(TEXT)
    logits, found, streams = plain.run(ids)
    table = plain.W["embed"]
    direction = table[lm.id("the")] * plain.W["norm"]
    # The rms of the last stream, from one logit: the logit is stream · direction / rms.
    x = streams[-1][-1]
    for head in range(HEADS):
        W_O = plain.W["layers.2.attention.W_O"][:, head * D_HEAD : (head + 1) * D_HEAD]
        x = x + found[2, head][-1] @ W_O.T
    last = lm._runner.stream(ids)[0, -1].double()
    rms = last @ direction / logits[-1, lm.id("the")]
    close(shares.mlps[2], (last - x) @ direction / rms)
    assert shares.embedding == pytest.approx(
        (table[ids[-1]] @ direction / rms).item(), abs=1e-4
    )
    for layer in range(LAYERS):
        for head in range(HEADS):
            W_O = plain.W[f"layers.{layer}.attention.W_O"]
            wrote = found[layer, head][-1] @ W_O[:, head * D_HEAD : (head + 1) * D_HEAD].T
            close(shares.heads[layer, head], wrote @ direction / rms)


def test_a_head_that_is_off_contributes_nothing(lm):
    with lm.without(OFF):
        shares = lm.contributions(TEXT, "e")
        total = shares.embedding + shares.heads.sum() + shares.mlps.sum()
        assert total.item() == pytest.approx(shares.logit, abs=1e-4)
    assert [shares.heads[head].item() for head in OFF] == [0.0, 0.0, 0.0]


def test_what_is_no_token_contributes_nothing(lm):
    with pytest.raises(ValueError, match="'cat' is no token of small"):
        lm.contributions(TEXT, "cat")


@pytest.mark.parametrize("seed", range(3))
def test_a_row_points_to_the_tokens_whose_logits_it_raises(seed, lm, plain):
    """Added to a long stream in small amounts, it moves their logits most."""
    row = torch.randn(lm.d_model, generator=torch.Generator().manual_seed(seed))
    moved = plain.W["embed"] @ (plain.W["norm"] * row.double())
    order = moved.argsort(descending=True).tolist()
    spelled = lm.vocabulary()
    assert lm.points_to(row, 3) == [spelled[i] for i in order[:3]]
    assert lm.points_to(-row, 2) == [spelled[i] for i in order[:-3:-1]]
    assert lm.points_to(7 * row) == lm.points_to(row)


def test_where_the_last_stream_points_is_what_comes_next(lm):
    stream = lm._runner.stream(lm.ids(TEXT))[0, -1]
    assert lm.points_to(stream, 4) == [token for token, _ in lm.next(TEXT, 4)]


def test_a_row_of_another_size_points_nowhere(lm):
    with pytest.raises(ValueError, match=r"row is \(31,\); pass one row of 32 numbers"):
        lm.points_to(torch.ones(31))
    with pytest.raises(ValueError, match="k=0 tokens"):
        lm.points_to(torch.ones(32), 0)


# --- paths -------------------------------------------------------------------------------


def expected_path(lm, plain, sender, receiver):
    """Path patching by its definition, with the plain model."""
    source, target = lm.ids(SOURCE), lm.ids(TEXT)
    held = plain.run(target)[1] | {sender: plain.run(source)[1][sender]}
    logits, _, streams = plain.run(target, z=held)
    if receiver == "logits":
        return logits[-1]
    layer, head, name = receiver
    heard = {name: plain.inputs(streams[layer], layer, head)[name]}
    return plain.run(target, heard={(layer, head): heard})[0][-1]


SOURCE = OTHER[:9]
RECEIVERS = ["logits", (1, 0, "q"), (1, 3, "k"), (1, 1, "v"), (2, 2, "q"), (2, 0, "k")]


@pytest.mark.parametrize("receiver", [*RECEIVERS, (2, 3, "v")], ids=str)
@pytest.mark.parametrize("sender", [(0, 0), (0, 3)], ids=str)
def test_a_path_is_what_its_definition_says(sender, receiver, lm, plain):
    assert len(lm.ids(TEXT)) == len(lm.ids(SOURCE)) == 9
    found = lm.patch(SOURCE, TEXT, sender, receiver)
    close(found, expected_path(lm, plain, sender, receiver))
    assert not torch.allclose(found, lm.logits(TEXT)[-1], atol=1e-3)


@pytest.mark.nohook
def test_a_sender_may_be_written_as_a_list(lm):
    listed = lm.patch(SOURCE, TEXT, [0, 1], "logits")
    assert_close(listed, lm.patch(SOURCE, TEXT, (0, 1), "logits"))


def test_a_source_that_is_the_target_changes_nothing(lm):
    for receiver in RECEIVERS:
        assert_close(lm.patch(TEXT, TEXT, (0, 1), receiver), lm.logits(TEXT)[-1])


def test_paths_that_do_not_exist(lm):
    with pytest.raises(ValueError, match="source has 3 tokens and target 9, so their"):
        lm.patch("cat", TEXT, (0, 1), "logits")
    with pytest.raises(ValueError, match="in layer 1 and hears nothing of layer 1; it has"):
        lm.patch(TEXT, TEXT, (1, 1), (1, 2, "q"))
    with pytest.raises(ValueError, match=r"receiver: there is no head \(3, 0\)"):
        lm.patch(TEXT, TEXT, (1, 1), (3, 0, "q"))
    with lm.without(OFF), pytest.raises(ValueError, match="are off; patch outside"):
        lm.patch(TEXT, TEXT, (0, 0), "logits")


@pytest.mark.nohook
@pytest.mark.parametrize("receiver", ["logit", (1, 2), (1, 2, "z"), (1, 2, ""), (1, 2, "qk")])
def test_what_is_no_receiver(receiver, lm):
    with pytest.raises(ValueError, match=r"receiver=.*; pass 'logits', or \(layer, head, "):
        lm.patch(TEXT, TEXT, (0, 1), receiver)


# --- an attention of one's own -----------------------------------------------------------


class Mine(nn.Module):
    """The attention of a layer as a reader would write it, with nothing but given parts."""

    def __init__(self, lm, layer):
        super().__init__()
        self.lm, self.W = lm, lm.weights(layer)

    def heads(self, x, name):
        return (x @ self.W[name]).unflatten(-1, (HEADS, -1)).transpose(1, 2)

    def forward(self, x, mask):
        q, k, v = (self.heads(x, name) for name in ("W_Q", "W_K", "W_V"))
        q, k = self.lm.rotate(q, k)
        return self.mixed(q, k, v, mask)

    def mixed(self, q, k, v, mask):
        scores = (q @ k.mT / D_HEAD**0.5).masked_fill(~mask, -torch.inf)
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2) @ self.W["W_O"]


class Remembering(Mine):
    """It keeps keys and values, and forgets them when a text begins."""

    def forward(self, x, mask, positions=None):
        q, k, v = (self.heads(x, name) for name in ("W_Q", "W_K", "W_V"))
        q, k = self.lm.rotate(q, k, positions)
        if positions is not None and positions[0] > 0:
            k, v = torch.cat([self.k, k], 2), torch.cat([self.v, v], 2)
        self.k, self.v = k, v
        return self.mixed(q, k, v, mask)


class Forgetful(Mine):
    """It takes positions and keeps nothing: each token sees itself alone."""

    def forward(self, x, mask, positions=None):
        q, k, v = (self.heads(x, name) for name in ("W_Q", "W_K", "W_V"))
        q, k = self.lm.rotate(q, k, positions)
        return self.mixed(q, k, v, mask[:, -x.shape[1] :])


@pytest.mark.parametrize("kind", [Mine, Remembering])
def test_the_readers_class_in_every_layer_is_the_model(kind, lm):
    expected = lm.logits(TEXT)
    text = lm.generate(TEXT, 10)
    placed = [lm.replace(layer, kind(lm, layer)) for layer in range(LAYERS)]
    assert_close(lm.logits(TEXT), expected, atol=1e-4, rtol=1e-4)
    assert lm.generate(TEXT, 10, cache=False) == text
    for each in placed:
        each.undo()
    assert torch.equal(lm.logits(TEXT), expected)


def test_a_class_that_takes_positions_works_with_the_cache(lm):
    texts = [lm.generate(TEXT, 10), lm.generate(OTHER, 10)]
    for layer in range(LAYERS):
        lm.replace(layer, Remembering(lm, layer))
    assert [lm.generate(TEXT, 10), lm.generate(OTHER, 10)] == texts


def test_one_that_takes_none_is_refused_with_the_cache(lm):
    with lm.replace(1, Mine(lm, 1)):
        words = "layer 1 is Mine, which takes no positions, so it cannot go on .* cache=False"
        with pytest.raises(ValueError, match=words):
            lm.generate(TEXT, 3)
    lm.generate(TEXT, 3)


def test_one_that_forgets_is_noticed(lm):
    with lm.replace(1, Forgetful(lm, 1)):
        assert lm.generate(TEXT, 3, cache=False)
        words = "layer 1: Forgetful gives position 9 another output behind a cache than in one"
        with pytest.raises(ValueError, match=words):
            lm.generate(TEXT, 3)


def test_a_function_is_an_attention_too_and_sees_only_what_it_may(lm):
    seen = []

    def nothing(x, mask):
        seen.append((x.shape, mask))
        return torch.zeros_like(x)

    with lm.replace(0, nothing):
        changed = lm.logits(TEXT)
    ((shape, mask),) = seen
    assert shape == (1, 9, HEADS * D_HEAD)
    assert torch.equal(mask, torch.ones(9, 9).tril().bool())
    with edit(lm.attention(0), "y", torch.zeros_like):
        assert_close(changed, lm.logits(TEXT), atol=1e-4, rtol=1e-4)


def test_the_way_back_is_the_end_of_the_block_whatever_happens(lm):
    expected = lm.logits(TEXT)
    with pytest.raises(ZeroDivisionError), lm.replace(0, lambda x, mask: 1 / 0):
        lm.logits(TEXT)
    with lm.replace(0, lambda x, mask: x), lm.replace(0, lambda x, mask: -x):
        pass
    assert torch.equal(lm.logits(TEXT), expected)


def test_nested_replacements_come_off_one_by_one(lm):
    with lm.replace(0, lambda x, mask: x):
        outer = lm.logits(TEXT)
        inner = lm.replace(0, lambda x, mask: -x)
        assert not torch.equal(lm.logits(TEXT), outer)
        inner.undo()
        inner.undo()
        assert torch.equal(lm.logits(TEXT), outer)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (lambda x: x[:, :-1], r"returned \(1, 8, 32\) torch\.float32 for x \(1, 9, 32\)"),
        (lambda x: x.double(), r"returned \(1, 9, 32\) torch\.float64"),
        (lambda x: (x, None), "returned tuple for x"),
    ],
)
def test_what_an_attention_returns_is_like_x(returned, words, lm):
    with (
        lm.replace(2, lambda x, mask: returned(x)),
        pytest.raises(ValueError, match=f"layer 2: <lambda> {words}.*; return a tensor like x"),
    ):
        lm.next(TEXT)


def test_what_cannot_be_seen_in_a_replaced_layer_is_refused(lm):
    with lm.replace(1, Mine(lm, 1)):
        for ask in (
            lambda: lm.attend(TEXT),
            lambda: lm.attend_each([TEXT]),
            lambda: lm.heads(TEXT),
            lambda: lm.contributions(TEXT, "e"),
            lambda: lm.patch(TEXT, TEXT, (0, 0), "logits"),
            lambda: lm.without([(0, 0)]).__enter__(),
        ):
            with pytest.raises(ValueError, match=r"layers \[1\] are replaced: .*; undo\(\)"):
                ask()
    with lm.without(OFF), pytest.raises(ValueError, match=r"heads \[\(0, 1\)\] are off; repl"):
        lm.replace(0, Mine(lm, 0))


@pytest.mark.nohook
def test_what_cannot_be_called_is_no_attention(lm):
    with pytest.raises(TypeError, match="module is a str; pass what can be called"):
        lm.replace(0, "mine")
    with pytest.raises(ValueError, match="layer=3 does not exist; small has 0 to 2"):
        lm.replace(3, lambda x, mask: x)


def test_weights_are_in_by_out_and_copies(lm):
    attention, W = lm.attention(1), lm.weights(1)
    x = torch.randn(2, HEADS * D_HEAD)
    assert_close(x @ W["W_Q"], attention.project.W_Q(x))
    assert_close(x @ W["W_O"], attention.W_O(x))
    k = attention.project.W_K(x).unflatten(-1, (KV_HEADS, D_HEAD))
    repeated = (x @ W["W_K"]).unflatten(-1, (HEADS, D_HEAD))
    for head in range(HEADS):
        assert_close(repeated[:, head], k[:, head // 2])
    W["W_V"].zero_()
    assert attention.project.W_V.weight.abs().max() > 0
