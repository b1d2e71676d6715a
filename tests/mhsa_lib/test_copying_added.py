"""What was added to an attention is refused, unless it only watches."""

import pytest
import torch
from torch import nn

from mhsa_book.conversions.align import aligned
from mhsa_book.conversions.grouping import pooled
from mhsa_lib import FusedMultiHeadAttention, edit, kv_cache, trace
from mhsa_lib.parallel.one_rank import shard_of
from tests.helpers.drawn import mha, rand
from tests.helpers.refusing import fuse, refuses


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.project.register_forward_hook(print), "project has a hook, print, which"),
        (lambda m: setattr(m, "forward", print), "has a forward of its own, which has no"),
        (lambda m: setattr(m.attend, "scores", nn.Identity()), "attend.scores=Identity has no"),
        (
            lambda m: setattr(m, "router", nn.Linear(2, 2)),
            "router=Linear has no fused form; no",
        ),
        (
            lambda m: setattr(m.project, "W_V", nn.Linear(12, 8).double()),
            "project.W_V has shape",
        ),
        (
            lambda m: setattr(m.attend, "scale", torch.ones(())),
            "attend.scale is a Tensor, which",
        ),
        (lambda m: m.attend.dropout.eval(), "attend.dropout is in another mode"),
        (
            lambda m: setattr(m.project, "W_K", m.project.W_Q),
            "project.W_K.weight is project.W_Q",
        ),
    ],
)
def test_what_was_added_or_replaced_is_refused(change, words):
    attention = mha(dropout=0.5).train()
    change(attention)
    refuses(lambda: fuse(attention), words)


def test_what_only_watches_is_no_reason_to_refuse_and_is_not_copied():
    attention, x = mha(12, 4), rand(2, 5, 12)
    with trace(attention) as wires:
        for ours in (fuse(attention), pooled(attention, 4), aligned(attention, 2)):
            torch.testing.assert_close(ours(x), attention(x))
        part = shard_of(attention, 0, 1)
        attention(x)
        before = wires["y"]
        for ours in (part, aligned(attention, 2)):
            ours(2 * x)
    assert wires["y"] is before


def test_what_changes_or_remembers_is_refused():
    attention = mha()
    with edit(attention, "z", torch.zeros_like):
        refuses(lambda: fuse(attention), "attend has a hook, edit.<locals>.replace, which has")
    with kv_cache(attention):
        refuses(lambda: fuse(attention), "has a hook, ")


def test_a_fused_attention_with_a_hook_has_no_five_stages():
    fused = FusedMultiHeadAttention(12, 3)
    fused.W_O.register_forward_hook(lambda module, args, y: 0 * y)
    refuses(fused.to_attention, "W_O has a hook, ")
