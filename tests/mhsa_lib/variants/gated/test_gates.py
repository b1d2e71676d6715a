"""How often a gate is drawn closed or open, what it multiplies, and what it learns."""

import math

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.difference import Difference
from mhsa_lib import MultiHeadAttention, edit, trace
from mhsa_lib.variants.gated import GatedAttention, HardConcrete
from tests.helpers.drawn import filled, mha, rand

N = 200_000
BETAS = {"Voita et al.": 0.33, "Louizos et al.": 2 / 3}


def gated(log_alpha=None, **options):
    torch.manual_seed(0)
    attention = filled(GatedAttention(12, 3, bias=True, **options).double()).eval()
    values = torch.zeros(3) if log_alpha is None else torch.tensor(log_alpha)
    attention.gate.log_alpha.data.copy_(values)
    return attention


def logit(p):
    return math.log(p) - math.log(1 - p)


def by_hand(log_alpha, limit, gate):
    """Share of the noise u for which the stretched sigmoid stays below a limit."""
    s = (limit - gate.gamma) / (gate.zeta - gate.gamma)
    return 1 / (1 + math.exp(-(gate.beta * logit(s) - log_alpha)))


@pytest.mark.parametrize("paper", BETAS)
@pytest.mark.parametrize("log_alpha", [-2.0, 0.0, 0.7, 2.0, 3.0])
def test_draws_are_closed_and_open_as_often_as_the_closed_form_says(paper, log_alpha):
    gate = HardConcrete(N, log_alpha=log_alpha)
    gate.beta = BETAS[paper]
    drawn, chances = gate.drawn(), [each[0].item() for each in gate.probabilities()]
    shares = [(drawn == 0), (drawn > 0) & (drawn < 1), (drawn == 1)]
    for share, chance in zip(shares, chances, strict=True):
        spread = (chance * (1 - chance) / N) ** 0.5
        assert abs(share.double().mean().item() - chance) < 4 * spread
    closed, between, opened = chances
    assert closed == pytest.approx(by_hand(log_alpha, 0, gate), abs=1e-6)
    assert opened == pytest.approx(1 - by_hand(log_alpha, 1, gate), abs=1e-6)
    assert closed + between + opened == pytest.approx(1, abs=1e-6)


def test_the_penalty_is_the_mean_number_of_gates_that_are_not_zero():
    gate = HardConcrete(4)
    gate.log_alpha.data.copy_(torch.tensor([-2.0, 0.0, 1.0, 3.0]))
    counts = torch.stack([(gate.drawn() != 0).sum() for _ in range(20_000)]).double()
    spread = counts.std().item() / len(counts) ** 0.5
    assert abs(counts.mean().item() - gate.penalty().item()) < 4 * spread
    closed = gate.probabilities().closed
    assert gate.penalty().item() == pytest.approx(4 - closed.sum().item(), abs=1e-6)


def test_the_penalty_of_one_gate_and_its_gradient_in_numbers():
    expected = {-2.0: 0.230, 0.0: 0.688, 2.0: 0.942}
    for log_alpha, chance in expected.items():
        found = HardConcrete(1, log_alpha=log_alpha).penalty().item()
        assert found == pytest.approx(chance, abs=5e-4)
    gate = HardConcrete(3, log_alpha=0.0)
    gate.penalty().backward()
    p = gate.penalty().item() / 3
    assert_close(gate.log_alpha.grad, torch.full((3,), p * (1 - p)))


def test_evaluation_takes_the_sigmoid_without_noise_or_temperature():
    values = gated([-1.0, 0.5, 4.0]).gate.values().tolist()
    for found, log_alpha in zip(values, [-1.0, 0.5, 4.0], strict=True):
        stretched = 1.2 / (1 + math.exp(-log_alpha)) - 0.1
        assert found == pytest.approx(min(max(stretched, 0.0), 1.0), abs=1e-12)
    closed = math.log(0.1 / 1.1)
    values = gated([closed - 1e-6, closed + 1e-6, 0.0]).gate.values()
    assert values[:2].sign().tolist() == [0.0, 1.0]


def test_at_the_start_it_is_plain_attention_bit_by_bit():
    plain, x = mha(12, 3, bias=True), rand(2, 5, 12)
    attention = GatedAttention(12, 3, bias=True).double().eval()
    attention.load_state_dict(plain.state_dict(), strict=False)
    assert torch.equal(attention(x), plain(x))
    attention.gate.log_alpha.data.fill_(math.log(11) + 1e-9)
    assert torch.equal(attention(x), plain(x))
    attention.gate.log_alpha.data.fill_(math.log(11) - 1e-9)
    assert not torch.equal(attention(x), plain(x))


def test_a_gate_multiplies_its_head_for_all_tokens():
    attention, x = gated([-1.0, 0.5, 4.0]), rand(2, 5, 12)
    with trace(attention) as wires:
        attention(x)
    assert wires["gates"].shape == (3,)
    for head in range(3):
        assert_close(wires["gated"][:, head], wires["gates"][head] * wires["z"][:, head])


def test_a_closed_gate_is_a_head_at_zero_and_an_edited_gate_counts():
    attention, x = gated([4.0, -4.0, 4.0]), rand(2, 5, 12)
    only = torch.tensor([1.0, 0.0, 1.0]).double()
    plain = MultiHeadAttention(12, 3, bias=True).double()
    plain.load_state_dict(attention.state_dict(), strict=False)
    with edit(plain, "z", lambda z: z * only[:, None, None]):
        assert_close(attention(x), plain(x))
    with edit(attention, "gates", torch.ones_like):
        assert torch.equal(attention(x), plain(x))


def test_one_draw_serves_the_batch_and_the_next_pass_draws_again():
    attention, x = gated().train(), rand(4, 5, 12)
    found = []
    for _ in range(2):
        with trace(attention) as wires:
            attention(x)
        found.append(wires["gates"])
        assert found[-1].shape == (3,)
    assert not torch.equal(*found)
    torch.manual_seed(7)
    first = attention(x)
    torch.manual_seed(7)
    assert torch.equal(attention(x), first)
    assert torch.equal(attention.eval()(x), attention(x))
    assert torch.equal(attention.gate.values(), attention.train().gate.values())


def test_what_is_drawn_teaches_the_gates_that_are_neither_closed_nor_open():
    attention = gated([-9.0, 0.0, 9.0]).train()
    torch.manual_seed(1)
    with trace(attention) as wires:
        attention(rand(4, 5, 12)).square().sum().backward()
    assert [0.0, 1.0] == wires["gates"][[0, 2]].tolist()
    assert 0 < wires["gates"][1].item() < 1
    gradient = attention.gate.log_alpha.grad
    assert gradient[[0, 2]].tolist() == [0.0, 0.0]
    assert gradient[1].abs() > 1e-3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_in_half_precision_draws_are_those_of_float32(dtype):
    gate = HardConcrete(N, log_alpha=1.0).to(dtype)
    drawn = gate.drawn()
    assert (drawn.dtype, drawn.isfinite().all().item()) == (torch.float32, True)
    chance = gate.probabilities().closed[0].item()
    spread = (chance * (1 - chance) / N) ** 0.5
    assert abs((drawn == 0).double().mean().item() - chance) < 4 * spread
    assert gate(torch.ones(N, 1, 1, dtype=dtype)).dtype is dtype


def test_one_line_of_the_forward_pass_differs():
    difference = Difference(gated())
    assert difference.changed_lines == ["z = self.concat(self.gate(z))  # <- the idea"]
    assert list(difference.added) == ["gate"]


def test_a_penalty_closes_the_gate_of_a_head_that_nobody_needs():
    """Only head 0 is asked for: the target is the output of that head alone."""
    attention, x = gated([3.0, 3.0, 3.0]), rand(64, 5, 12)
    with torch.no_grad(), edit(attention, "gates", lambda g: torch.eye(3)[0].to(g)):
        target = attention(x)
    optimizer = torch.optim.Adam(attention.gate.parameters(), lr=0.2)
    attention.train()
    for _ in range(100):
        optimizer.zero_grad()
        error = (attention(x) - target).square().mean()
        (error + 0.02 * attention.gate.penalty()).backward()
        optimizer.step()
    assert attention.gate.values().tolist() == [1.0, 0.0, 0.0]
