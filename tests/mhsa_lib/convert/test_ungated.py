"""A closed gate is a head that is gone, and other gates move into W_O."""

import pytest
import torch

from mhsa_lib import MultiHeadAttention
from mhsa_lib.convert.prune import prune_heads, ungated
from mhsa_lib.variants.gated import GatedAttention, HardConcrete
from tests.helpers.drawn import filled, mha, rand
from tests.helpers.refusing import refuses
from tests.mhsa_lib.convert.zeros import LIMIT, close


def gated(*log_alpha, **options):
    torch.manual_seed(0)
    n_heads = len(log_alpha)
    attention = filled(GatedAttention(12, n_heads, bias=True, **options).double()).eval()
    attention.gate.log_alpha.data = torch.tensor(log_alpha).double()
    return attention


def test_a_closed_gate_is_a_head_that_is_gone():
    attention, x = gated(4.0, -4.0, 4.0), rand(2, 5, 12)
    plain = MultiHeadAttention(12, 3, bias=True).double()
    plain.load_state_dict(attention.state_dict(), strict=False)
    assert attention.gates().tolist() == [1.0, 0.0, 1.0]
    close(attention(x), prune_heads(plain, [0, 2])(x))
    found = ungated(attention)
    assert type(found) is MultiHeadAttention
    assert torch.equal(found(x), prune_heads(plain, [0, 2])(x))


@pytest.mark.parametrize("dtype", LIMIT)
def test_gates_between_move_into_the_output_map(dtype):
    attention = gated(0.3, -4.0, 4.0, -0.8, d_head=2).to(dtype)
    attention.W_O.requires_grad_(False)
    x = rand(2, 5, 12).to(dtype)
    plain = ungated(attention)
    close(plain(x), attention(x))
    assert (plain.n_heads, plain.d_head, plain.training) == (3, 2, False)
    assert [p.requires_grad for p in plain.W_O.parameters()] == [False, False]
    before = attention(x)
    for parameter in plain.parameters():
        parameter.data.zero_()
    assert torch.equal(attention(x), before)


@pytest.mark.bothways
def test_gates_that_are_drawn_all_closed_or_for_other_heads_are_refused():
    words = "gate is in training mode, where gates are drawn again in every pass; call eval()"
    refuses(lambda: ungated(gated(4.0, 4.0).train()), words)
    drawing = gated(4.0, 4.0)
    drawing.gate.train()
    refuses(lambda: ungated(drawing), words)
    words = "all 2 gates are closed, and an attention without a head is none; leave one open: "
    refuses(lambda: ungated(gated(-4.0, -4.0)), words)
    shared = gated(*[4.0] * 12)  # heads one column wide, where one gate would fit all
    shared.gate = HardConcrete(1, log_alpha=0.0).double().eval()
    words = "gate.log_alpha has shape (1,), not (12,), which d_model, d_context, n_heads and"
    refuses(lambda: ungated(shared), words)


@pytest.mark.nohook
def test_plain_attention_has_no_gates_to_lose():
    words = "MultiHeadAttention has no form without gates; only GatedAttention is known there"
    refuses(lambda: ungated(mha()), words, TypeError)


def test_hooks_on_a_gate_are_refused():
    attention = gated(4.0, 4.0)
    attention.gate.register_forward_hook(lambda module, args, z: 2 * z)
    refuses(lambda: ungated(attention), "gate has a hook, ")
