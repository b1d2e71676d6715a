"""Cheap checks of a part whose numbers one can redo by hand."""

import math

import torch
from torch import Tensor, nn

from mhsa_book.museum.parts import Inputs, Parts, Setting, run
from mhsa_book.museum.problems import D_MODEL, drawn, inputs, same


def position_one_turns_by_one(parts: Parts, setting: Setting) -> bool:
    """Turn (1, 0, …) at position 1: cos 1 in column 0, sin 1 half a head on, in every head."""
    heads = torch.zeros(1, 2, 1, 4)
    heads[..., 0] = 1.0
    turned = parts.turn(heads, parts.angles(torch.tensor([1]), 4, 2))
    expected = torch.tensor([math.cos(1), 0.0, math.sin(1), 0.0]).expand_as(heads)
    return same(turned, expected)


def the_second_pair_turns_slower(parts: Parts, setting: Setting) -> bool:
    """Print the angles of position 1 with d_head = 4: 1, and 1 divided by √base."""
    angle = parts.angles(torch.tensor([1]), 4, 2).flatten()[:2]
    return same(angle, torch.tensor([1.0, 0.01]))


def a_window_holds_its_number(parts: Parts, setting: Setting) -> bool:
    """Count the keys of every query under a window of 3: 1, 2, 3, 3, 3."""
    kept = parts.window_mask(5, 5, 3) & torch.ones(5, 5).tril().bool()
    return kept.sum(dim=-1).tolist() == [1, 2, 3, 3, 3]


def far_positions_keep_their_angle(parts: Parts, setting: Setting) -> bool:
    """Position 1,001 turns the first pair by 1,001 radians."""
    angle = parts.angles(torch.tensor([1001]), 4, 2).flatten()[0]
    return abs(math.cos(angle.item()) - math.cos(1001)) < 1e-3


def the_nearest_key_has_the_least_penalty(parts: Parts, setting: Setting) -> bool:
    """Look at a row of the bias: 0 for the own position, and falling backwards."""
    row = parts.alibi(4, 4, setting.n_heads)[0, -1]
    return row[-1].item() == 0 and bool((row.diff() > 0).all())


def a_key_behind_counts_up(parts: Parts, setting: Setting) -> bool:
    """Query 1 and key 0 are +1 apart, and not −1."""
    return parts.offsets(2, 2)[1, 0].item() == 1


def every_head_has_its_length(parts: Parts, setting: Setting) -> bool:
    """Measure one head of a query: √d_head."""
    heads = drawn(1, 2, 3, 4) * torch.tensor([1.0, 5.0])[:, None, None]
    return same(parts.normalise_heads(heads).norm(dim=-1), torch.full((1, 2, 3), 2.0))


def neighbours_share_a_key_head(parts: Parts, setting: Setting) -> bool:
    """Two key heads for four: k1 k1 k2 k2."""
    kv = torch.tensor([1.0, 2.0]).view(1, 2, 1, 1)
    return parts.share_heads(kv, 4).flatten().tolist() == [1, 1, 2, 2]


def the_numbers_of_the_definition(parts: Parts, setting: Setting) -> bool:
    """Compare the rows that come out with the definition, written as loops over pairs."""
    given = inputs(setting, 2, 3, lengths=False)
    return same(run(parts, setting, given).output, _by_loops(setting, given))


def _by_loops(setting: Setting, given: Inputs) -> Tensor:
    W, d_head, angle = given.W, D_MODEL // setting.n_heads, torch.arange(3.0)
    y = W.bias_O + torch.zeros(2, 3, D_MODEL)
    for b, h, i in torch.cartesian_prod(*map(torch.arange, (2, setting.n_heads, 3))).tolist():
        own = slice(h * d_head, (h + 1) * d_head)
        q = _at(W.Q[own] @ given.x[b, i] + W.bias_Q[own], angle[i])
        row, values = [], []
        for j in range(i + 1):
            k = _at(W.K[own] @ given.x[b, j] + W.bias_K[own], angle[j])
            row.append((q @ k).item() / math.sqrt(d_head))
            values.append(W.V[own] @ given.x[b, j] + W.bias_V[own])
        weights = nn.functional.softmax(torch.tensor(row), dim=0)
        y[b, i] += W.O[:, own] @ (weights @ torch.stack(values))
    return y


def _at(vector: Tensor, position: Tensor) -> Tensor:
    half = len(vector) // 2
    turned = vector.clone()
    for i in range(half):
        angle = (position * 10_000.0 ** (-2 * i / len(vector))).item()
        one, two = vector[i].item(), vector[i + half].item()
        turned[i] = one * math.cos(angle) - two * math.sin(angle)
        turned[i + half] = one * math.sin(angle) + two * math.cos(angle)
    return turned
