"""Mistakes before the heads are cut: maps, biases, beginnings, and the caller's rows."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from mhsa_book.museum import by_hand, cheap_checks, problems
from mhsa_book.museum.catalogue import exhibit
from mhsa_book.museum.right import Matrices

Rows = tuple[Tensor, Tensor, Tensor]

END = 0
"""The token that ends a text, and fills up what is shorter."""


@exhibit(
    "project", stage="project", symptom="converted", check=by_hand.the_numbers_of_the_definition
)
def weights_of_a_linear_not_transposed(
    x: Tensor, memory: Tensor, W: Matrices, n_heads: int
) -> Rows:
    """Maps that are stored (out, in) are used as if they were (in, out)."""
    return x @ W.Q + W.bias_Q, memory @ W.K + W.bias_K, memory @ W.V + W.bias_V


@exhibit(
    "project", stage="project", symptom="converted", check=by_hand.the_numbers_of_the_definition
)
def packed_in_another_order(x: Tensor, memory: Tensor, W: Matrices, n_heads: int) -> Rows:
    """Packed q, k and v are taken apart head by head, though they lie one after another."""
    packed = x @ torch.cat([W.Q, W.K, W.V]).mT + torch.cat([W.bias_Q, W.bias_K, W.bias_V])
    q, k, v = packed.unflatten(-1, (n_heads, 3, -1)).unbind(dim=-2)
    return q.flatten(-2), k.flatten(-2), v.flatten(-2)


@exhibit("project", stage="project", symptom="worse", check=cheap_checks.every_number_learns)
def keys_from_W_Q(x: Tensor, memory: Tensor, W: Matrices, n_heads: int) -> Rows:
    """Queries and keys are made by the same map."""
    return x @ W.Q.mT + W.bias_Q, memory @ W.Q.mT + W.bias_K, memory @ W.V.mT + W.bias_V


@exhibit("project", stage="project", symptom="worse", check=cheap_checks.every_number_learns)
def values_from_W_K(x: Tensor, memory: Tensor, W: Matrices, n_heads: int) -> Rows:
    """Values are made by the map of the keys."""
    return x @ W.Q.mT + W.bias_Q, memory @ W.K.mT + W.bias_K, memory @ W.K.mT + W.bias_V


@exhibit(
    "project",
    stage="project",
    symptom="elsewhere",
    check=cheap_checks.queries_come_from_x,
    problem=problems.a_memory,
)
def queries_from_the_memory(x: Tensor, memory: Tensor, W: Matrices, n_heads: int) -> Rows:
    """In cross-attention the two inputs are exchanged: the memory asks."""
    return memory @ W.Q.mT + W.bias_Q, x @ W.K.mT + W.bias_K, x @ W.V.mT + W.bias_V


@exhibit("project", stage="project", symptom="worse", check=cheap_checks.every_number_learns)
def one_projection_for_all_heads(x: Tensor, memory: Tensor, W: Matrices, n_heads: int) -> Rows:
    """All heads get the queries, keys and values of the first head."""
    d_head = len(W.Q) // n_heads
    q = x @ W.Q[:d_head].mT + W.bias_Q[:d_head]
    k = memory @ W.K[:d_head].mT + W.bias_K[:d_head]
    v = memory @ W.V[:d_head].mT + W.bias_V[:d_head]
    return q.repeat(1, 1, n_heads), k.repeat(1, 1, n_heads), v.repeat(1, 1, n_heads)


@exhibit(
    "project", stage="project", symptom="converted", check=cheap_checks.every_number_learns
)
def biases_forgotten(x: Tensor, memory: Tensor, W: Matrices, n_heads: int) -> Rows:
    """The biases of q, k and v are left behind."""
    return x @ W.Q.mT, memory @ W.K.mT, memory @ W.V.mT


@exhibit(
    "begin",
    stage="around",
    symptom="worse",
    check=cheap_checks.heads_differ_at_the_start,
    problem=problems.the_first_maps,
)
def heads_begin_alike(width: int, n_heads: int, generator: torch.Generator) -> Tensor:
    """All heads begin with the same numbers, and nothing ever tells them apart."""
    one = torch.randn(width // n_heads, width // n_heads, generator=generator)
    return one.repeat(n_heads, n_heads) / math.sqrt(width)


@exhibit(
    "register",
    stage="around",
    symptom="worse",
    check=cheap_checks.all_parameters_are_listed,
    problem=problems.its_parameters,
)
def heads_in_a_plain_list(heads: Iterable[nn.Module]) -> Iterable[nn.Module]:
    """Heads are kept in a list of Python: no optimizer sees them, no device moves them."""
    return list(heads)


@exhibit(
    "normalise",
    stage="around",
    symptom="elsewhere",
    check=cheap_checks.the_caller_keeps_its_rows,
    problem=problems.a_block,
)
def rows_changed_in_place(x: Tensor) -> Tensor:
    """The rows are normalised in place, and what is added later is no longer what came in."""
    return x.sub_(x.mean(dim=-1, keepdim=True))


@exhibit(
    "targets",
    stage="around",
    symptom="leaks",
    check=cheap_checks.the_next_token_is_asked,
    problem=problems.what_is_asked,
)
def labels_not_shifted(ids: Tensor) -> tuple[Tensor, Tensor]:
    """The model is asked for the token that it reads, and not for the next one."""
    return ids[:, :-1], ids[:, :-1]


@exhibit(
    "asked",
    stage="around",
    symptom="elsewhere",
    check=cheap_checks.the_end_is_asked,
    problem=problems.which_targets_count,
)
def end_taken_for_padding(wanted: Tensor, lengths: Tensor) -> Tensor:
    """Padding is the token that ends a text, so its end is left out of the loss as well."""
    return wanted != END
