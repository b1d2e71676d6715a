"""A decoder alone: it sees no future, refuses what is no id, and learns to write."""

import re

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.transformer import DecoderOnly
from tools import ROOT


@pytest.fixture
def decoder():
    return DecoderOnly(n_tokens=9, d_model=12, n_heads=3, n_layers=2, d_hidden=24)


def test_no_token_sees_a_later_one(decoder):
    ids = torch.tensor([[5, 3, 4, 8]])
    changed = torch.tensor([[5, 3, 7, 7]])
    one, other = decoder(ids), decoder(changed)
    assert_close(one[:, :2], other[:, :2])
    assert not torch.allclose(one[:, 2:], other[:, 2:])


def test_the_order_of_earlier_tokens_matters(decoder):
    one, other = (decoder(torch.tensor([ids]))[0, -1] for ids in ([5, 3, 4], [3, 5, 4]))
    assert not torch.allclose(one, other, atol=1e-5)


def test_before_training_it_guesses(decoder):
    ids = torch.randint(9, (64, 8))
    loss = torch.nn.functional.cross_entropy(decoder(ids).flatten(0, 1), ids.flatten())
    assert loss.item() == pytest.approx(torch.tensor(9.0).log().item(), abs=0.1)


def test_one_table_reads_and_names_tokens(decoder):
    decoder(torch.tensor([[5, 3]]))[0, 0, 7].backward()
    rows = decoder.embed.weight.grad.abs().sum(dim=-1)
    assert rows.nonzero().flatten().tolist() == [5, 7]


@pytest.mark.parametrize("wrong", [-1, 9])
def test_ids_are_in_the_vocabulary(wrong, decoder):
    with pytest.raises(ValueError, match=f"ids holds the id {wrong}, but n_tokens=9"):
        decoder(torch.tensor([[0, wrong]]))


def test_heads_divide_the_width():
    with pytest.raises(ValueError, match="n_heads=5"):
        DecoderOnly(n_tokens=9, d_model=12, n_heads=5, n_layers=2, d_hidden=24)


@pytest.mark.slow
@pytest.mark.nohook
def test_the_example_of_the_page_learns_to_write_in_two_minutes(capsys):
    page = (ROOT / "book" / "api_transformer.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    made = {}
    exec(code, made)
    held_out = made["held_out"]
    starts = torch.arange(0, len(held_out) - 97, 97)
    letters, following = made["novel"].windows(held_out, starts, length=96)
    logits = made["decoder"](letters)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten()).item()
    with capsys.disabled():
        print(f"\nnats a letter, held out: {loss:.2f}")
    assert loss < 1.5
    assert made["lm"].attend("mr. darcy")[1].shape == (3, 4, 9, 9)
