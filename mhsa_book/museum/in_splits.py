"""Mistakes where heads are cut and laid side by side again."""

import torch
from torch import Tensor

from mhsa_book.museum import by_hand, cheap_checks, problems
from mhsa_book.museum.catalogue import exhibit
from mhsa_book.museum.right import Matrices


@exhibit(
    "split_heads",
    stage="split",
    symptom="leaks",
    check=cheap_checks.identity_mask_returns_values,
)
def split_by_view_alone(rows: Tensor, n_heads: int) -> Tensor:
    """The rows are viewed as heads without a transpose: a head gets other tokens, whole."""
    batch, seq, _ = rows.shape
    return rows.reshape(batch, n_heads, seq, -1)


@exhibit(
    "split_heads",
    stage="split",
    symptom="converted",
    check=cheap_checks.a_map_belongs_to_its_head,
)
def columns_dealt_like_cards(rows: Tensor, n_heads: int) -> Tensor:
    """Column 0 goes to head 0, column 1 to head 1, and so on."""
    batch, seq, _ = rows.shape
    return rows.reshape(batch, seq, -1, n_heads).permute(0, 3, 1, 2)


@exhibit(
    "split_heads",
    stage="split",
    symptom="converted",
    check=cheap_checks.a_map_belongs_to_its_head,
)
def heads_and_columns_exchanged(rows: Tensor, n_heads: int) -> Tensor:
    """Heads as wide as there should be heads, and as many as they should be wide."""
    batch, seq, _ = rows.shape
    return rows.reshape(batch, seq, -1, n_heads).transpose(1, 2)


def _sentences_beside_each_other(z: Tensor) -> Tensor:
    seq, _, batch, _ = z.shape
    return z.permute(2, 0, 1, 3).reshape(batch, seq, -1)


@exhibit(
    "split_heads",
    stage="split",
    symptom="worse",
    check=cheap_checks.batch_independence,
    also={"concat_heads": _sentences_beside_each_other},
)
def attends_across_the_batch(rows: Tensor, n_heads: int) -> Tensor:
    """Batch and sequence are exchanged: a token looks at the same place of other sentences."""
    batch, seq, _ = rows.shape
    return rows.reshape(batch, seq, n_heads, -1).permute(1, 2, 0, 3)


@exhibit(
    "concat_heads",
    stage="concat",
    symptom="leaks",
    check=cheap_checks.identity_mask_returns_values,
)
def concat_without_transpose(z: Tensor) -> Tensor:
    """Heads are laid out with the tokens still inside them: a row holds other tokens."""
    batch, n_heads, seq, d_head = z.shape
    return z.reshape(batch, seq, n_heads * d_head)


@exhibit(
    "concat_heads",
    stage="concat",
    symptom="error",
    check=cheap_checks.identity_mask_returns_values,
)
def view_after_transpose(z: Tensor) -> Tensor:
    """A transposed tensor is viewed, though its numbers do not lie in that order."""
    batch, n_heads, seq, d_head = z.shape
    return z.transpose(1, 2).view(batch, seq, n_heads * d_head)


@exhibit(
    "concat_heads",
    stage="concat",
    symptom="converted",
    check=cheap_checks.identity_mask_returns_values,
)
def heads_averaged(z: Tensor) -> Tensor:
    """The heads are averaged, and the mean stands where each of them should."""
    return z.mean(dim=1).repeat(1, 1, z.shape[1])


@exhibit(
    "output",
    stage="W_O",
    symptom="converted",
    check=cheap_checks.identity_mask_returns_values,
)
def W_O_forgotten(rows: Tensor, W: Matrices, n_heads: int) -> Tensor:
    """The heads lie side by side, and nothing mixes them."""
    return rows


@exhibit("output", stage="W_O", symptom="converted", check=cheap_checks.every_number_learns)
def one_slice_of_W_O_for_all_heads(rows: Tensor, W: Matrices, n_heads: int) -> Tensor:
    """Every head goes through the columns of W_O that belong to the first."""
    d_head = rows.shape[-1] // n_heads
    return rows @ W.O[:, :d_head].repeat(1, n_heads).mT + W.bias_O


@exhibit(
    "output",
    stage="W_O",
    symptom="elsewhere",
    check=cheap_checks.the_bias_of_W_O_comes_once,
    problem=problems.with_a_bias,
)
def output_bias_on_every_device(rows: Tensor, W: Matrices, n_heads: int) -> Tensor:
    """Two devices have half of W_O each, and both add the bias before the sum."""
    halves = zip(rows.chunk(2, dim=-1), W.O.chunk(2, dim=-1), strict=True)
    return torch.stack([half @ O.mT + W.bias_O for half, O in halves]).sum(dim=0)


@exhibit(
    "share_heads",
    stage="split",
    symptom="converted",
    check=by_hand.neighbours_share_a_key_head,
    setting=problems.Setting(n_kv_heads=2),
)
def key_heads_tiled(kv: Tensor, n_heads: int) -> Tensor:
    """Key heads are repeated as a row, k1 k2 k1 k2, and query heads meet another's keys."""
    return kv.repeat(1, n_heads // kv.shape[1], 1, 1)
