"""What composed heads do with a mask and with dropout."""

import torch
from torch.testing import assert_close

from mhsa_lib import edit, trace
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.composed.layers import attention


def test_scores_are_composed_before_the_mask():
    """A head's score of a forbidden pair still counts for a head that may look there."""
    layer, x = attention(), rand(5, 12)
    closed = torch.ones(3, 5, 5).bool()
    closed[0] = False
    with trace(layer) as wires:
        layer(x)
    free = wires["composed_scores"]
    with trace(layer) as wires:
        layer(x, mask=closed)
    assert torch.equal(wires["composed_scores"], free)


def test_a_key_that_one_head_may_not_see_stays_unseen_through_the_others():
    layer, x = attention(), rand(5, 12)
    mask = torch.ones(3, 5, 5).bool()
    mask[0, :, 4] = False  # head 0 may not look at the last token, heads 1 and 2 may
    with trace(layer) as wires:
        layer(x, mask=mask)
    assert not wires["composed_weights"][0, :, 4].any()
    assert wires["composed_weights"][1:, :, 4].all()
    raised = x.clone()
    raised[4] += 10.0
    with edit(layer, "v", lambda v: layer.project.W_V(raised)), trace(layer) as again:
        layer(x, mask=mask)
    assert_close(again["z"][0], wires["z"][0])
    assert not torch.allclose(again["z"][1], wires["z"][1])


def test_dropout_acts_on_the_composed_weights_in_training_only():
    layer, x = attention(dropout=0.5), rand(5, 12)
    torch.manual_seed(0)
    with trace(layer.train()) as wires:
        layer(x)
    kept = wires["composed_weights"].clone()
    assert kept.all()
    assert not torch.allclose(wires["z"], kept @ wires["v_heads"])
    with trace(layer.eval()) as wires:
        layer(x)
    assert_close(wires["z"], wires["composed_weights"] @ wires["v_heads"])
