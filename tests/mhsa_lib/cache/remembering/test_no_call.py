"""A pass that is no call of its own: a checkpoint repeats it, or torch.func transforms it."""

import pytest
import torch
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from mhsa_lib import masks
from mhsa_lib.cache.remembering import remember
from tests.helpers.drawn import mha, rand


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_pass_that_a_checkpoint_repeats_is_refused(reentrant):
    attention, x = mha(), rand(2, 5, 12).requires_grad_()
    with remember(attention) as cache:
        y = checkpoint(attention, x, None, masks.causal, use_reentrant=reentrant)
        with pytest.raises(RuntimeError, match="a checkpoint computes a pass"):
            y.sum().backward()
    assert cache.lengths == [5, 5]


def test_a_call_that_torch_func_transforms_alone_is_refused():
    attention, x = mha(), rand(2, 5, 12)
    with remember(attention) as cache:
        with pytest.raises(
            RuntimeError, match=r"torch\.func or forward mode surrounds this call"
        ):
            torch.func.vmap(attention)(x)
        attention(x, mask=masks.causal)
    assert cache.lengths == [5, 5]


def test_a_block_inside_of_what_is_transformed_remembers():
    attention, x = mha(), rand(2, 5, 12)

    def in_parts(one):
        with remember(attention):
            return torch.cat([attention(part, mask=masks.causal) for part in one.split([3, 2])])

    assert_close(torch.func.vmap(in_parts)(x), attention(x, mask=masks.causal))
