"""A reader's attention in a language model: right ones say Mary, and each mistake is named."""

import pytest
import torch
from torch import einsum
from torch.nn.functional import scaled_dot_product_attention as sdpa

from mhsa_book import models, museum
from mhsa_book.exercises import bugs, check, in_the_model
from mhsa_book.exercises.in_the_model import called, diagnose, in_every_layer, mistake

pytestmark = pytest.mark.nohook  # many calls, which take several times as long under the hook

MARY = "When Mary and John went to the store, John gave a drink to"
PROMPTS = {MARY: " Mary", "The capital of France is": " Paris"}


class Plain:
    def __init__(self, W_Q, W_K, W_V, W_O, n_heads, rotate):
        self.W_Q, self.W_K, self.W_V, self.W_O = W_Q, W_K, W_V, W_O
        self.n_heads, self.rotate = n_heads, rotate

    def split(self, rows):
        batch, seq, width = rows.shape
        return rows.reshape(batch, seq, self.n_heads, width // self.n_heads).transpose(1, 2)

    def rotated(self, x):
        q, k, v = (self.split(x @ W) for W in (self.W_Q, self.W_K, self.W_V))
        return *self.rotate(q, k), v


class Fused(Plain):
    def __call__(self, x, mask):
        z = sdpa(*self.rotated(x), attn_mask=mask)
        return z.transpose(1, 2).flatten(2) @ self.W_O


class HeadByHead(Plain):
    def __call__(self, x, mask):
        d_head, y = self.W_Q.shape[1] // self.n_heads, torch.zeros_like(x)
        for start in range(0, self.W_Q.shape[1], d_head):
            own = slice(start, start + d_head)
            q, k, v = (x @ W[:, own] for W in (self.W_Q, self.W_K, self.W_V))
            q, k = self.rotate(q, k)
            scores = torch.where(mask, q @ k.mT / d_head**0.5, -torch.inf)
            powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
            y = y + powers / powers.sum(dim=-1, keepdim=True) @ v @ self.W_O[own]
        return y


class Letters(Plain):
    def __call__(self, x, mask):
        W_Q, W_K, W_V = (
            W.unflatten(1, (self.n_heads, -1)) for W in (self.W_Q, self.W_K, self.W_V)
        )
        q, k = einsum("btm,mhd->bhtd", x, W_Q), einsum("btm,mhd->bhtd", x, W_K)
        q, k = self.rotate(q, k)
        scores = einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
        weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
        v, W_O = einsum("btm,mhd->bhtd", x, W_V), self.W_O.unflatten(0, (self.n_heads, -1))
        return einsum("bhqk,bhkd,hdm->bqm", weights, v, W_O)


RIGHT = (Fused, HeadByHead, Letters)


@pytest.fixture(scope="module")
def lm():
    return models.load("SmolLM2-135M")


@pytest.mark.parametrize("build", RIGHT)
def test_three_right_classes_written_differently_are_called_right(build):
    assert diagnose(build), diagnose(build).text
    assert check("attention_in_the_model", build), check("attention_in_the_model", build).text


OTHERS = [pytest.param(build, marks=pytest.mark.slow) for build in RIGHT[1:]]


@pytest.mark.parametrize("build", [RIGHT[0], *OTHERS])
def test_with_a_right_class_in_all_layers_the_model_says_mary(lm, build):
    for prompt, expected in PROMPTS.items():
        own = lm.next(prompt)
        with in_every_layer(lm, build):
            found = lm.next(prompt)
            written = lm.generate(prompt, 4, cache=False)
        assert found[0][0] == expected
        assert [token for token, _ in found] == [token for token, _ in own]
        gaps = [abs(one - other) for (_, one), (_, other) in zip(found, own, strict=True)]
        assert max(gaps) < 1e-4
        assert written == lm.generate(prompt, 4)


@pytest.mark.parametrize("name", in_the_model.exhibits())
def test_every_exhibit_that_fits_is_named_and_no_other(name):
    verdict = diagnose(mistake(name))
    assert verdict.state == "wrong"
    assert f"bug museum does, {name}: {museum.exhibit(name).title}" in verdict.text
    assert "\nOr: " not in verdict.text


@pytest.mark.parametrize("name", in_the_model.exhibits())
def test_an_exhibit_is_named_by_its_numbers(name):
    """An error of the same type is a weak reason: some input has to give numbers."""
    trials = in_the_model.WHOLE.trials(called(mistake(name)))
    given = [trial for trial in trials if trial.call.raised is None and trial.differs]
    assert given or name == "view_after_transpose"  # an error is all that it does


def test_every_exhibit_fits_or_is_right_here_or_belongs_elsewhere():
    fitting, right_here = {*in_the_model.exhibits()}, {*in_the_model.SAME_HERE}
    assert not fitting & right_here
    elsewhere = {each.name: {*each.parts} for each in museum.exhibits()}
    for name in fitting | right_here | {*bugs.SAID_IN_WORDS}:
        del elsewhere[name]
    around = {"begin", "register", "normalise", "targets", "padding_mask", "drop", "recall"}
    around |= {"drop_scores", "forget", "remember", "reorder", "places", "share_heads"}
    around |= {"angles", "turn", "alibi", "offsets", "normalise_heads"}
    around |= {"asked", "counted", "crop", "memory_mask", "documents_mask", "window_mask"}
    assert {name: parts for name, parts in elsewhere.items() if not parts <= around} == {}


@pytest.mark.parametrize("name", in_the_model.SAME_HERE)
def test_an_exhibit_that_is_left_out_is_right_on_every_input(name):
    exhibit = museum.exhibit(name)
    parts = exhibit.all_parts
    for given in in_the_model.inputs():
        x, rotate, n_heads = given["x"], given["rotate"], given["n_heads"]
        W = bugs.matrices_of(*(given[f"W_{one}"] for one in "QKVO"))
        q, k, v = (parts.split_heads(each, n_heads) for each in parts.project(x, x, W, n_heads))
        mask = parts.causal_mask(*given["mask"].shape)
        z = bugs.mixed(parts, *rotate(q, k), v, mask)
        y = parts.output(parts.concat_heads(z), W, n_heads)
        torch.testing.assert_close(y, in_the_model.attention(**given), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rotation_forgotten", "The rotation changes no score"),
        ("keys_not_rotated", "Only the queries are rotated"),
        ("queries_not_rotated", "Only the keys are rotated"),
        ("rotated_twice", "rotated twice"),
        ("rotated_before_the_split", "Rotated before the split"),
        ("mask_forgotten", "The mask changes nothing"),
        ("queries_and_keys_exchanged", "W_Q and W_K exchanged"),
    ],
)
def test_a_mistake_that_is_no_exhibit_is_said_in_words(name, said):
    text = diagnose(mistake(name)).text
    assert said in text
    assert "The smallest input that shows it" in text


def test_a_head_that_is_turned_by_its_number_scores_as_if_nothing_were_turned():
    """The two cannot be told apart by any output, so both have one verdict."""

    class ByNumber(Fused):
        def rotated(self, x):
            q, k, v = (self.split(x @ W) for W in (self.W_Q, self.W_K, self.W_V))
            q, k = self.rotate(q.transpose(1, 2), k.transpose(1, 2))
            return q.transpose(1, 2), k.transpose(1, 2), v

    assert "The rotation changes no score" in diagnose(ByNumber).text


def test_a_mistake_that_nobody_knows_is_answered_by_the_smallest_input():
    class Odd(Fused):
        def __call__(self, x, mask):
            return super().__call__(x, mask) * (1 + 0.1 * (x.shape[1] > 2))

    text = diagnose(Odd).text
    assert "bug museum" not in text
    shown = text.partition("The smallest input that shows it:")[2]
    assert "mask = tensor([[ True, False, False]" in shown


def test_what_raises_or_is_not_written_is_said():
    class Nothing(Plain):
        def __call__(self, x, mask): ...

    class Unfinished(Plain):
        def __call__(self, x, mask):
            return self.softmax(x)

    assert diagnose(Nothing).state == "unfilled"
    assert "has no attribute 'softmax'" in diagnose(Unfinished).text
    assert "is no class" in check("attention_in_the_model", Plain(*range(6))).text
    with pytest.raises(ValueError, match=r"'no_such' is no mistake that fits; there are right"):
        mistake("no_such")


@pytest.mark.parametrize("name", ["no_scale", "rotation_forgotten", "split_by_view_alone"])
def test_a_reader_s_mistake_makes_the_model_say_what_the_exhibit_makes_it_say(lm, name):
    readers = {
        "no_scale": type("A", (Fused,), {"__call__": _unscaled}),
        "rotation_forgotten": type("B", (Fused,), {"rotated": _unrotated}),
        "split_by_view_alone": type("C", (Fused,), {"split": _viewed}),
    }
    with in_every_layer(lm, readers[name]):
        read = lm.next(MARY)
    with in_every_layer(lm, mistake(name)):
        known = lm.next(MARY)
    own = lm.next(MARY)
    assert [token for token, _ in read] == [token for token, _ in known]
    assert max(abs(a - b) for (_, a), (_, b) in zip(read, known, strict=True)) < 1e-3
    assert own[0][0] == " Mary" != read[0][0]


def _unscaled(self, x, mask):
    z = sdpa(*self.rotated(x), attn_mask=mask, scale=1.0)
    return z.transpose(1, 2).flatten(2) @ self.W_O


def _unrotated(self, x):
    return [self.split(x @ W) for W in (self.W_Q, self.W_K, self.W_V)]


def _viewed(self, rows):
    return rows.view(len(rows), self.n_heads, rows.shape[1], -1)


def test_the_model_is_as_before_when_the_block_ends(lm):
    with pytest.raises(ZeroDivisionError), in_every_layer(lm, Fused):
        raise ZeroDivisionError
    assert lm.attend(MARY)[1].shape[:2] == (30, 9)


def test_called_takes_the_names_of_the_model(lm):
    given = {**lm.weights(0), "n_heads": lm.n_heads, "rotate": lm.rotate}
    x, mask = torch.randn(1, 3, lm.d_model), torch.ones(3, 3, dtype=torch.bool).tril()
    y = called(Letters)(x=x, **given, mask=mask)
    torch.testing.assert_close(y, lm.attention(0)(x, mask=mask), rtol=1e-3, atol=1e-4)


def change(lm, name):
    """How far a mistake moves the next token's probabilities; infinity where it raises."""
    own = lm.logits(MARY)[-1].softmax(dim=-1)
    try:
        with in_every_layer(lm, mistake(name)):
            found = lm.logits(MARY)[-1].softmax(dim=-1)
    except (RuntimeError, ValueError):
        return float("inf")
    return (found - own).abs().nan_to_num(1.0).max().item()


@pytest.mark.slow  # a pass through 30 layers for every exhibit
def test_the_model_notices_every_exhibit_but_two_that_need_larger_numbers(lm):
    changes = {name: change(lm, name) for name in in_the_model.exhibits()}
    unnoticed = {name for name, moved in changes.items() if moved < 0.005}
    assert unnoticed == {"softmax_overflows", "scores_overflow_in_half"}
    raising = {name for name, moved in changes.items() if moved == float("inf")}
    assert raising == {
        "heads_and_columns_exchanged",
        "attends_across_the_batch",
        "view_after_transpose",
    }
