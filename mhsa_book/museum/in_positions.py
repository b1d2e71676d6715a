"""Mistakes with positions: turned pairs, biases by distance, lengths of queries and keys."""

from collections.abc import Callable

import torch
from torch import Tensor

from mhsa_book.museum import by_hand, cheap_checks, problems
from mhsa_book.museum.catalogue import exhibit
from mhsa_book.museum.problems import Setting
from mhsa_book.museum.right import BASE, offsets, slopes


@exhibit(
    "turn", stage="positions", symptom="converted", check=by_hand.position_one_turns_by_one
)
def the_other_rotary_layout(heads: Tensor, angle: Tensor) -> Tensor:
    """Neighbours are turned together, though the weights are made for halves."""
    one, two = heads[..., ::2], heads[..., 1::2]
    cos, sin = angle.cos(), angle.sin()
    return torch.stack([one * cos - two * sin, one * sin + two * cos], dim=-1).flatten(-2)


@exhibit("angles", stage="positions", symptom="worse", check=by_hand.position_one_turns_by_one)
def rotary_before_the_split(position: Tensor, d_head: int, n_heads: int) -> Tensor:
    """Rates are spread over d_model: every head gets another part of them."""
    rates = BASE ** -(torch.arange(n_heads * d_head // 2) * 2 / (n_heads * d_head))
    return position[:, None] * rates.view(n_heads, 1, -1)


@exhibit(
    "rotate",
    stage="positions",
    symptom="converted",
    check=cheap_checks.identity_mask_returns_values,
)
def values_turned_too(
    q: Tensor, k: Tensor, v: Tensor, turned: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Values are turned like keys: what a token brings depends on where it stands."""
    return turned(q), turned(k), turned(v)


@exhibit(
    "places",
    stage="positions",
    symptom="in use",
    check=cheap_checks.word_by_word_as_at_once,
    problem=problems.word_by_word,
)
def positions_begin_again(n_before: int, n: int) -> Tensor:
    """With a cache every new token is at position 0."""
    return torch.arange(n)


@exhibit(
    "angles",
    stage="positions",
    symptom="elsewhere",
    check=by_hand.far_positions_keep_their_angle,
    problem=problems.a_long_text,
)
def positions_in_half(position: Tensor, d_head: int, n_heads: int) -> Tensor:
    """Positions are kept in bfloat16, which has no odd numbers above 256."""
    rates = BASE ** -(torch.arange(d_head // 2) * 2 / d_head)
    return (position.bfloat16()[:, None] * rates.bfloat16()).float()


@exhibit(
    "alibi",
    stage="positions",
    symptom="elsewhere",
    check=by_hand.the_nearest_key_has_the_least_penalty,
    setting=Setting(positions="alibi"),
)
def alibi_with_the_other_sign(n_query: int, n_key: int, n_heads: int) -> Tensor:
    """The bias rewards distance: the first token of a text is the best."""
    return slopes(n_heads)[:, None, None] * offsets(n_query, n_key)


@exhibit(
    "offsets",
    stage="positions",
    symptom="converted",
    check=by_hand.a_key_behind_counts_up,
    setting=Setting(positions="relative"),
)
def distances_the_other_way_round(n_query: int, n_key: int) -> Tensor:
    """The table of biases is read with key less query."""
    return torch.arange(n_key) - torch.arange(n_key - n_query, n_key)[:, None]


@exhibit(
    "normalise_heads",
    stage="positions",
    symptom="converted",
    check=by_hand.every_head_has_its_length,
    setting=Setting(qk_norm=True),
)
def all_heads_normalised_together(heads: Tensor) -> Tensor:
    """Queries and keys are normalised over d_model: a head may be loud at another's cost."""
    return heads / heads.pow(2).mean(dim=(1, 3), keepdim=True).sqrt()


@exhibit(
    "angles", stage="positions", symptom="converted", check=by_hand.the_second_pair_turns_slower
)
def base_of_another_model(position: Tensor, d_head: int, n_heads: int) -> Tensor:
    """The base of the rotation is another model's, and not that of these weights."""
    rates = 500_000.0 ** -(torch.arange(d_head // 2) * 2 / d_head)
    return position[:, None] * rates


@exhibit(
    "counted",
    stage="positions",
    symptom="converted",
    check=cheap_checks.without_its_padding_the_same,
    setting=Setting(positions="absolute"),
)
def padding_counts_as_positions(real: Tensor) -> Tensor:
    """Padding on the left is counted: a shorter text begins at a later position."""
    return torch.arange(real.shape[1]).expand(real.shape)
