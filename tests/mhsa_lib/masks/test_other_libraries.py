"""What chapter 06 says of the masks of other libraries, in the table and beside it."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa
from transformers import GPT2Config, GPT2Model

from mhsa_book import examples
from mhsa_book.equivalence import peers
from mhsa_lib import masks, trace

EYE = torch.eye(7).expand(2, 3, 7, 7)


@pytest.fixture(scope="module")
def running():
    mha = examples.attention()
    with torch.no_grad(), trace(mha) as wires:
        mha(examples.sentences(), mask=masks.causal)
    return mha, wires


@pytest.mark.parametrize("how", ["may look", "added", "is_causal"])
def test_sdpa_is_told_in_three_ways(running, how):
    may = masks.causal.dense(7, 7)
    told = {
        "may look": {"attn_mask": may},
        "added": {"attn_mask": masks.to_additive(may, torch.float32)},
        "is_causal": {"is_causal": True},
    }
    wires = running[1]
    found = sdpa(wires["q_heads"], wires["k_heads"], EYE, **told[how])
    torch.testing.assert_close(found, wires["weights"])


@pytest.mark.parametrize("how", ["blocked", "added"])
def test_the_module_is_told_in_two_ways(running, how):
    mha, wires = running
    may, x = masks.causal.dense(7, 7), examples.sentences()
    mask = ~may if how == "blocked" else masks.to_additive(may, torch.float32)
    _, found = peers.torch_module(mha)(x, x, x, attn_mask=mask, average_attn_weights=False)
    torch.testing.assert_close(found, wires["weights"])


def test_the_module_refuses_is_causal_alone(running):
    x = examples.sentences()
    with pytest.raises(RuntimeError, match="attn_mask"):
        peers.torch_module(running[0])(x, x, x, is_causal=True)


def test_fewer_queries_are_the_first_in_sdpa_and_the_last_in_ours(running):
    q, k = running[1]["q_heads"], running[1]["k_heads"]
    theirs = sdpa(q[..., 5:, :], k, EYE, is_causal=True)[0, 0] > 0
    assert theirs.tolist() == torch.ones(2, 7, dtype=torch.bool).tril().tolist()
    assert masks.causal.dense(2, 7).tolist() == masks.causal.dense(7, 7)[5:].tolist()


def test_gpt2_is_causal_whatever_its_attention_mask_says():
    torch.manual_seed(0)
    sizes = {"vocab_size": 20, "n_positions": 8, "n_embd": 12, "n_layer": 1, "n_head": 2}
    config = GPT2Config(**sizes, bos_token_id=0, eos_token_id=0, attn_implementation="eager")
    keep = torch.tensor([[1, 1, 1, 1, 0, 0]])
    with torch.no_grad():
        model = GPT2Model(config).eval()
        given = model(torch.arange(6)[None], attention_mask=keep, output_attentions=True)
    looked = given.attentions[0][0, 0] > 0
    meant = masks.causal & masks.key_padding([4])
    assert looked.tolist() == meant.dense(6, 6)[0, 0].tolist()


def test_two_lowest_numbers_of_float16_are_minus_infinity_and_a_row_of_them_is_nan():
    lowest = torch.full((2,), torch.finfo(torch.float16).min, dtype=torch.float16)
    assert lowest.isfinite().all()
    assert (lowest + lowest).isneginf().all()
    assert torch.softmax(lowest + lowest, dim=0).isnan().all()
    with pytest.raises(RuntimeError, match="overflow"):
        lowest.masked_fill(torch.ones(2, dtype=torch.bool), -1e9)


@pytest.mark.parametrize("low", [-1e9, -1e4, torch.finfo(torch.float16).min])
def test_numbers_that_stand_for_minus_infinity_get_a_repair_that_works(low):
    mask = torch.tensor([[0.0, low]])
    with pytest.raises(ValueError, match="if it stands for -inf, pass") as error:
        masks.from_additive(mask)
    repair = str(error.value).partition("pass ")[2].rstrip(".")
    repaired = eval(repair, {"mask": mask, "inf": torch.inf})
    assert masks.from_additive(repaired).tolist() == [[True, False]]


@pytest.mark.parametrize("mask", [masks.full, masks.key_padding([3, 4]), masks.causal], ids=str)
def test_one_pair_of_a_dense_mask_can_be_changed(mask):
    dense = mask.dense(4, 4)
    expected = [[*row] for row in dense.reshape(-1, 4).tolist()]
    dense[..., 2, 1] = ~dense[..., 2, 1]
    for i in range(2, len(expected), 4):
        expected[i][1] = not expected[i][1]
    assert dense.reshape(-1, 4).tolist() == expected
