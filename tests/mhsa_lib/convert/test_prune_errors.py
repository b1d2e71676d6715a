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
        ([], ValueError, "keep=[] does not name heads of 0 to 2, each once; pass the numbers"),
        ([0, 3], ValueError, "keep=[0, 3] does not name heads of 0 to 2, each once"),
        ([-1], ValueError, "keep=[-1] does not name heads of 0 to 2, each once"),
        ([1, 0, 1], ValueError, "keep=[1, 0, 1] does not name heads of 0 to 2, each once"),
        (torch.tensor([[0, 1]]), ValueError, "keep=[[0, 1]] does not name heads of 0 to 2"),
        (
            torch.tensor([True, False, True]),
            TypeError,
            "heads to keep are whole numbers, one for each, not [True, False, True]; say [0",
        ),
        ([torch.tensor(True)], TypeError, "heads to keep are whole numbers, one for each"),
        ([0, True], TypeError, "are whole numbers, one for each, not [0, True]; say [0, 1]."),
        (torch.tensor([0.0, 1.0]), TypeError, "are whole numbers, one for each, not [0.0, 1"),
        ("02", TypeError, "are whole numbers, one for each, not ['0', '2']; say [0, 1]."),
        (2, TypeError, "heads to keep are whole numbers, one for each, not 2; say [0, 1]."),
        (None, TypeError, "heads to keep are whole numbers, one for each, not None; say [0"),
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
