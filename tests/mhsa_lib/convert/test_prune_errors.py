"""What names no heads, or heads that cannot go, is refused with a repair."""

import pytest
import torch

from mhsa_lib import FusedMultiHeadAttention
from mhsa_lib.convert.prune import prune_heads
from mhsa_lib.variants import MixtureOfHeadAttention
from mhsa_lib.variants.gated import GatedAttention
from tests.helpers.drawn import mha
from tests.helpers.refusing import refuses
from tests.mhsa_lib.convert.zeros import grouped


@pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do
@pytest.mark.parametrize(
    ("keep", "error", "words"),
    [
        ([], ValueError, "keep=[] leaves no head; keep at least one of 0 to 2."),
        (
            [0, 3],
            ValueError,
            "keep=[0, 3] names head 3, but n_heads=3, so heads are 0 to 2; pass numbers of "
            "these, also for the last ones.",
        ),
        (
            [-1],
            ValueError,
            "keep=[-1] names head -1, but n_heads=3, so heads are 0 to 2; pass numbers of "
            "these, also for the last ones.",
        ),
        (
            [1, 0, 1],
            ValueError,
            "keep=[1, 0, 1] names head 1 twice; name each head once.",
        ),
        (
            torch.tensor([True, False, True]),
            TypeError,
            "keep=[True, False, True] says yes or no where it should name heads; pass the "
            "numbers of those to keep (of a tensor, keep.nonzero().flatten()).",
        ),
        ([torch.tensor(True)], TypeError, "says yes or no where it should name heads; pass"),
        (
            [0, True],
            TypeError,
            "keep=[0, True] says yes or no where it should name heads; pass",
        ),
        (
            torch.tensor([0.0, 1.0]),
            TypeError,
            "keep=[0.0, 1.0] holds 0.0, which is no whole number; pass numbers of heads.",
        ),
        (
            torch.tensor([[0, 1]]),
            TypeError,
            "keep=[[0, 1]] holds [0, 1], which is no whole number; pass numbers of heads.",
        ),
        ("02", TypeError, "holds '0', which is no whole number; pass numbers of heads."),
        (2, TypeError, "keep=2 is no list of heads; pass their numbers, [0, 1], say."),
        (None, TypeError, "keep=None is no list of heads; pass their numbers, [0, 1], say."),
    ],
    ids=str,
)
def test_what_names_no_heads_is_refused(keep, error, words):
    refuses(lambda: prune_heads(mha(), keep), words, error)


@pytest.mark.nohook
def test_other_attentions_are_refused_by_name():
    words = "MixtureOfHeadAttention may not have heads that can be removed; only MultiHead"
    mixture = MixtureOfHeadAttention(12, 3, n_shared=1, n_active=1)
    refuses(lambda: prune_heads(mixture, [0]), words, TypeError)
    words = (
        "only MultiHeadAttention or GroupedQueryAttention is known there: pass an attention "
    )
    words += "of standard stages (of a fused one its to_attention()"
    refuses(lambda: prune_heads(GatedAttention(12, 3), [0]), words, TypeError)
    refuses(lambda: prune_heads(FusedMultiHeadAttention(12, 3), [0]), words, TypeError)


@pytest.mark.bothways
def test_groups_of_different_sizes_are_refused():
    words = (
        "keep=[0, 1, 5] leaves groups of different sizes, query heads 2 of key head 0, 1 of "
        "key head 1; keep as many of each, or all of some groups of 3 and none of the others."
    )
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        prune_heads(grouped(), [5, 0, 1])
    assert str(error.value) == words
    for keep in ([0, 5], [0, 1, 3, 5]):
        prune_heads(grouped(), keep)
