"""What a kin of Llama does differently is a stage of its own."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import convert, masks, trace
from mhsa_lib.llama_stages import CappedAttend, GemmaNorm, NormedProject, SinkAttend
from mhsa_lib.rope.rotary import PartialRotary, Rotary
from tests.helpers.drawn import rand
from tests.mhsa_lib.convert.llama.layers import rope, source, theirs
from tests.mhsa_lib.convert.precision import close


def test_gemma_2_is_a_cap_on_the_scores():
    module, x = source("gemma2"), rand(2, 6, 12)
    ours = convert.from_llama(module)
    assert type(ours.attend) is CappedAttend
    assert (ours.attend.cap, ours.attend.scale) == (0.5, 1 / 3)
    ours.attend.cap = float("inf")
    assert (ours(x, mask=masks.causal) - theirs(module, x)[0]).abs().max() > 1e-2
    module.attn_logit_softcapping = None
    close(ours(x, mask=masks.causal), theirs(module, x)[0])
    assert type(convert.from_llama(module).attend) is not CappedAttend


@pytest.mark.parametrize(("index", "base"), [(0, 100.0), (1, 20.0)])
def test_gemma_3_turns_as_the_kind_of_its_layer_says(index, base):
    module, x = source("gemma3", index=index), rand(2, 6, 12)
    ours = convert.from_llama(module)
    assert ours.split.rotary.base == base
    assert type(ours.split.q_norm) is GemmaNorm
    close(ours(x, mask=masks.causal), theirs(module, x)[0])


def test_gemma_3_names_a_cap_and_does_not_use_it():
    module = source("gemma3")
    assert module.attn_logit_softcapping == 0.5
    assert not isinstance(convert.from_llama(module).attend, CappedAttend)


def test_small_gains_of_gemma_3_survive_half_precision():
    """1 + 0.001 is 1 in bfloat16."""
    module = source("gemma3").to(torch.bfloat16)
    with torch.no_grad():
        module.q_norm.weight.fill_(0.001)
    norm, heads = convert.from_llama(module).split.q_norm, rand(5, 6)
    assert norm.weight.dtype is torch.bfloat16
    one = nn.functional.rms_norm(heads, (6,), eps=norm.eps)
    assert_close(norm(heads) / one, torch.full_like(heads, 1.001), rtol=1e-4, atol=0)


@pytest.mark.parametrize("share", [0.5, 0.7, 1.0])
def test_phi_3_may_turn_a_part_of_every_head(share):
    """0.7 of 6 columns are cut to 4."""
    pairs = {0.5: 1, 0.7: 2, 1.0: 3}[share]
    d_head = 4 if share == 0.5 else 6
    options = {"partial_rotary_factor": share}
    module = source("phi3", d_head=d_head, rope_parameters=rope("default", **options))
    ours, x = convert.from_llama(module), rand(2, 12, 4 * d_head)
    assert type(ours.split.rotary) is (PartialRotary if share < 1 else Rotary)
    assert ours.split.rotary.d_rotary == 2 * pairs
    close(ours(x, mask=masks.causal), theirs(module, x)[0])


def test_olmo_2_norms_all_heads_together():
    ours = convert.from_llama(source("olmo2"))
    assert type(ours.project) is NormedProject
    assert ours.project.q_norm.weight.shape == (24,)
    assert isinstance(ours.split.q_norm, nn.Identity)


def test_gpt_oss_leaves_a_part_of_every_row_to_its_sink():
    module, x = source("gpt_oss"), rand(2, 6, 12)
    ours = convert.from_llama(module)
    assert type(ours.attend) is SinkAttend
    with trace(ours) as wires:
        ours(x, mask=masks.causal)
    sums = wires["weights"].sum(dim=-1)
    assert (sums < 1).all()
    first = wires["scores"][:, :, 0, 0]  # the first token sees itself and the sink
    assert_close(sums[..., 0], torch.sigmoid(first - module.sinks))


@pytest.mark.bothways
@pytest.mark.parametrize(("kind", "part"), [("gemma2", "cap"), ("gpt_oss", "sinks")])
def test_a_layer_that_is_set_to_leave_out_what_differs_is_refused(kind, part):
    module = source(kind)
    left_out = ["sdpa"] if part == "cap" else ["sdpa", "flash_attention_2"]
    for name in left_out:
        module.config._attn_implementation = name
        words = r"Attention (and its|could not be compared) .*[rR]estore what was replaced"
        if name == "flash_attention_2":
            words = f"_attn_implementation='{name}' is not an attention of PyTorch, which"
        with pytest.raises(ValueError, match=words):
            convert.from_llama(module)
    module.config._attn_implementation = "eager"
    convert.from_llama(module)
