"""A mask is a value: equal to what says the same, copied, pickled, and changed by nobody."""

import copy
import functools
import operator
import pickle

import numpy as np
import pytest
import torch

from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, masks
from tests.helpers.drawn import rand

MASKS = {
    "causal": lambda: masks.causal,
    "window": lambda: masks.sliding_window(3),
    "prefix": lambda: masks.prefix(2),
    "padding": lambda: masks.padding([3, 4]),
    "padding of two axes": lambda: masks.key_padding(torch.tensor([[3, 4], [1, 2]])),
    "documents": lambda: masks.documents([0, 0, 1, -1]),
    "documents of a batch": lambda: masks.documents([[0, 0, 1, 1], [0, 1, 1, -1]]),
    "documents of two axes": lambda: masks.documents(
        torch.tensor([[[0, 0, 1, 1, -1]] * 2] * 2)
    ),
    "and": lambda: masks.causal & masks.key_padding([3, 4]),
    "or": lambda: masks.sliding_window(2) | masks.prefix(1),
    "not": lambda: ~masks.sliding_window(2),
}
both = pytest.mark.bothways


def pickled(value):
    return pickle.loads(pickle.dumps(value))


def even(query, key):
    return (query - key) % 2 == 0


@pytest.mark.parametrize("name", MASKS)
def test_two_masks_that_say_the_same_are_one_value(name):
    one, other = MASKS[name](), MASKS[name]()
    assert one == other
    assert hash(one) == hash(other)
    assert one.fixed


def test_two_masks_that_say_something_else_differ():
    known = [make() for make in MASKS.values()]
    known += [masks.padding([3, 5]), masks.key_padding([3, 4]), masks.sliding_window(4)]
    known += [
        masks.key_padding([3, 4]) & masks.causal,
        masks.causal | masks.key_padding([3, 4]),
    ]
    assert len(set(known)) == len({mask.rule for mask in known}) == len(known)
    assert masks.causal != masks.causal.rule


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, None], ids=["copy", "deep", "pickle"]
)
def test_a_mask_can_be_copied_and_pickled(name, again):
    mask = MASKS[name]()
    found = pickle.loads(pickle.dumps(mask)) if again is None else again(mask)
    assert found == mask
    assert repr(found) == repr(mask)
    assert found.structure == mask.structure
    assert torch.equal(found.dense(4, 4), mask.dense(4, 4))


def test_a_custom_mask_is_pickled_by_the_name_of_its_function():
    mask = masks.causal & masks.custom(even)
    assert pickled(mask) == mask


def test_a_custom_mask_over_a_lambda_is_copied_but_a_function_is_pickled_by_its_name():
    mask = masks.custom(lambda query, key: query == key)
    for again in (copy.copy(mask), copy.deepcopy(mask)):
        assert again == mask
        assert torch.equal(again.dense(3, 3), mask.dense(3, 3))
    # The type and the words are Python's own, and changed in 3.14.
    with pytest.raises((AttributeError, pickle.PicklingError), match=r"pickle .*<lambda>"):
        pickle.dumps(masks.causal & mask)


def test_a_custom_mask_equals_only_itself_and_is_never_known_to_stay():
    one, other = (masks.custom(lambda query, key: query == key) for _ in range(2))
    assert one == one
    assert one != other
    assert hash(one) != hash(other)
    assert masks.custom(even) == masks.custom(even)
    assert not one.fixed
    assert not (masks.causal & one).fixed
    assert not (one | masks.causal).fixed
    assert not (~one).fixed


@pytest.mark.parametrize("make", [masks.padding, masks.key_padding])
@pytest.mark.parametrize("given", [list, np.array, torch.tensor])
def test_lengths_belong_to_the_mask(make, given):
    lengths = given([3, 4])
    mask = make(lengths)
    lengths[0] = 1
    assert mask == make([3, 4])
    assert torch.equal(mask.dense(4, 4), make([3, 4]).dense(4, 4))


def test_lengths_changed_later_change_neither_form_of_attention():
    mha, x, lengths = MultiHeadAttention(12, 3).double(), rand(2, 5, 12), torch.tensor([3, 4])
    mask = masks.padding(lengths)
    lengths += 1
    fused = FusedMultiHeadAttention.from_attention(mha)
    torch.testing.assert_close(fused(x, mask=mask), mha(x, mask=mask))
    torch.testing.assert_close(mha(x, mask=mask), mha(x, mask=masks.padding([3, 4])))


def test_lengths_are_numbers_even_where_tensors_hold_none():
    with torch.device("meta"):
        mask = masks.padding([3, 4])
    assert mask == masks.padding([3, 4])


@both
@pytest.mark.parametrize("make", [masks.padding, masks.key_padding])
@pytest.mark.parametrize(
    "lengths",
    [None, 3, 2.5, [2.5], [True], "ab", [[1], [2, 3]], [2**70], [1j], {3, 4},
     torch.tensor(3), torch.tensor([1.0]), torch.ones(2, dtype=torch.int64, device="meta")],
    ids=str,
)  # fmt: skip
def test_what_is_no_length_is_refused(make, lengths):
    with pytest.raises(TypeError, match=r"lengths are whole numbers, one per sequence, not "):
        make(lengths)


@both
def test_a_negative_length_is_refused():
    with pytest.raises(ValueError, match=r"lengths=\[3, -1\] holds a negative length"):
        masks.padding([3, -1])


@both
@pytest.mark.parametrize(
    "use",
    [
        lambda: masks.causal and masks.key_padding([3, 5]),
        lambda: masks.causal or masks.prefix(2),
        lambda: not masks.causal,
        lambda: bool(masks.causal & masks.prefix(2)),
    ],
    ids=["and", "or", "not", "bool"],
)
def test_a_mask_has_no_truth(use):
    words = (
        r"is a rule and neither true nor false; combine rules with `&`, `\|` and `~`, .*None"
    )
    with pytest.raises(TypeError, match=words):
        use()


@both
@pytest.mark.parametrize("sign", [operator.and_, operator.or_])
def test_a_tensor_is_no_rule_on_either_side(sign):
    tensor, how = torch.ones(3, 3, dtype=torch.bool), {operator.and_: "&", operator.or_: r"\|"}
    words = (
        rf"causal {how[sign]} a Tensor: .* causal\.dense\(n_query, n_key\) {how[sign]} tensor"
    )
    with pytest.raises(TypeError, match=words):
        sign(masks.causal, tensor)
    with pytest.raises(TypeError, match=words):
        sign(tensor, masks.causal)


@both
@pytest.mark.parametrize("other", [even, None, True])
def test_a_function_has_to_be_wrapped(other):
    words = r"only predicates combine; wrap a function of \(query, key\) in masks\.custom"
    for combine in (lambda: masks.causal & other, lambda: other | masks.causal):
        with pytest.raises(TypeError, match=words):
            combine()


@both
@pytest.mark.parametrize("rule", [masks.causal, 3, None])
def test_custom_takes_a_function(rule):
    with pytest.raises(TypeError, match=r"custom takes a function of \(query, key\), not a "):
        masks.custom(rule)


def test_a_mask_moves_with_the_lengths_it_reads():
    mask = (masks.causal & ~masks.padding([3, 4])) | masks.custom(even)
    moved = mask.to(torch.device("meta"))
    assert moved == mask
    assert moved.rule.parts[0].rule.parts[1].rule.parts[0].rule.ends.is_meta
    assert masks.Predicate(even, "even").to(torch.device("meta")).rule is even


COMPILED = {"causal", "and", "padding of two axes", "documents of two axes"}
"""The rules that are compiled with every test; the others are `make slow`."""


@pytest.mark.nohook
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in COMPILED)) for n in MASKS]
)
def test_a_mask_is_compiled_with_the_attention(name):
    torch.compiler.reset()
    mha, x = MultiHeadAttention(12, 2).double(), rand(2, 2, 5, 12)
    x = x[..., :4, :] if name in ("documents", "documents of a batch") else x
    compiled = torch.compile(mha, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x, mask=MASKS[name]()), mha(x, mask=MASKS[name]()))


@pytest.mark.parametrize("join", [operator.and_, operator.or_])
def test_a_thousand_rules_in_a_row_are_asked_and_moved(join):
    pairs = [lambda q, k, n=n: (q + k) % 1_009 != n for n in range(1_000)]
    rules = [masks.custom(rule) for rule in pairs]
    joined = functools.reduce(join, rules)
    expected = functools.reduce(join, [rule.dense(5, 5) for rule in rules])
    assert torch.equal(joined.dense(5, 5), expected)
    assert torch.equal(joined.to(torch.device("cpu")).dense(5, 5), expected)
    assert not joined.fixed
    assert join(joined, masks.causal) == join(functools.reduce(join, rules), masks.causal)


@both
@pytest.mark.parametrize("far", [2**62, 2**62 + 1, 2**63, 2**63 + 1, 2**64, 2**64 + 1, 2**100])
def test_what_reaches_beyond_any_text_hides_nothing(far):
    """In 64 bits 2**64 is 0 and 2**63 is negative."""
    past, all_pairs = torch.ones(5, 5).tril().bool(), torch.ones(5, 5).bool()
    inside = torch.arange(5) < torch.tensor([3, 5])[:, None]
    stages, x = MultiHeadAttention(12, 3).double(), rand(2, 5, 12)
    fused = FusedMultiHeadAttention.from_attention(stages)
    for mask, allowed in (
        (masks.sliding_window(far), past),
        (masks.sliding_window(far) & masks.key_padding([3, 5]), past & inside[:, None, None]),
        (masks.prefix(far), all_pairs),
    ):
        assert torch.equal(mask.dense(5, 5).expand_as(allowed), allowed)
        expected = stages(x, mask=allowed)
        for found in (stages(x, mask=mask), fused(x, mask=mask)):
            torch.testing.assert_close(found, expected)
    assert masks.sliding_window(far).name == f"sliding_window({far})"
