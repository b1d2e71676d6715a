"""Mistakes with masks: ways to get wrong who may attend to whom, and two number formats."""

import torch
from torch import Tensor

from mhsa_book.museum import by_hand, cheap_checks, problems
from mhsa_book.museum.catalogue import exhibit
from mhsa_book.museum.right import offsets


@exhibit("softmax", stage="mask", symptom="leaks", check=cheap_checks.the_future_is_hidden)
def mask_inverted(scores: Tensor, mask: Tensor) -> Tensor:
    """True is read as "hidden", though it was meant as "may look"."""
    scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1).masked_fill(mask, 0.0)


@exhibit("softmax", stage="mask", symptom="leaks", check=cheap_checks.rows_sum_to_one)
def mask_after_the_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Hidden keys get their share first, and lose it after: what is left does not sum to 1."""
    return torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)


@exhibit("softmax", stage="mask", symptom="leaks", check=cheap_checks.the_future_is_hidden)
def scores_times_mask(scores: Tensor, mask: Tensor) -> Tensor:
    """Hidden scores become 0, and e⁰ is 1."""
    return torch.softmax(scores * mask, dim=-1)


@exhibit("causal_mask", stage="mask", symptom="leaks", check=cheap_checks.the_future_is_hidden)
def one_token_of_the_future(n_query: int, n_key: int) -> Tensor:
    """The diagonal is one off: every token sees the next one."""
    return torch.ones(n_query, n_key).tril(n_key - n_query + 1).bool()


@exhibit(
    "padding_mask", stage="mask", symptom="worse", check=cheap_checks.padding_leaves_no_trace
)
def padding_hides_queries(real: Tensor) -> Tensor:
    """Rows of padding are masked, and not its columns: tokens still look at padding."""
    return real[:, None, :, None]


@exhibit("softmax", stage="mask", symptom="nan", check=cheap_checks.nothing_is_nan)
def an_empty_row_is_nan(scores: Tensor, mask: Tensor) -> Tensor:
    """A query that may see no key gets 0 divided by 0."""
    scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1)


@exhibit(
    "padding_mask",
    stage="mask",
    symptom="worse",
    check=cheap_checks.batch_independence,
)
def mask_meets_the_batch(real: Tensor) -> Tensor:
    """A mask (batch, key) is taken for (query, key), which fits if both are as many."""
    return real


@exhibit(
    "causal_mask",
    stage="mask",
    symptom="in use",
    check=cheap_checks.word_by_word_as_at_once,
    problem=problems.word_by_word,
)
def causal_from_the_top_left(n_query: int, n_key: int) -> Tensor:
    """The triangle begins at the first key: with a cache, a new token sees only that one."""
    return torch.ones(n_query, n_key).tril().bool()


@exhibit("softmax", stage="mask", symptom="nan", check=cheap_checks.nothing_is_nan)
def two_masks_added(scores: Tensor, mask: Tensor) -> Tensor:
    """Two masks of the lowest number are added: minus infinity, and an empty row is NaN."""
    lowest = torch.zeros_like(scores).masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores + lowest + lowest, dim=-1)


@exhibit(
    "softmax",
    stage="mask",
    symptom="error",
    check=cheap_checks.half_precision_runs,
    problem=problems.in_half,
)
def minus_a_billion_in_half(scores: Tensor, mask: Tensor) -> Tensor:
    """Hidden scores become −10⁹, which half precision does not have."""
    weights = torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1)
    return weights.masked_fill(~mask, 0.0)


@exhibit("causal_mask", stage="mask", symptom="leaks", check=cheap_checks.the_future_is_hidden)
def causal_mask_forgotten(n_query: int, n_key: int) -> Tensor:
    """Nobody passes the causal mask: every token sees the whole text."""
    return torch.ones(n_query, n_key).bool()


@exhibit(
    "padding_mask", stage="mask", symptom="worse", check=cheap_checks.padding_leaves_no_trace
)
def padding_mask_forgotten(real: Tensor) -> Tensor:
    """Nobody passes the padding mask: tokens attend to padding."""
    return torch.ones_like(real)[:, None, None, :]


@exhibit(
    "memory_mask",
    stage="mask",
    symptom="elsewhere",
    check=cheap_checks.padding_of_a_memory_leaves_no_trace,
    problem=problems.a_padded_memory,
)
def memory_padding_ignored(real: Tensor) -> Tensor:
    """The padding mask of the encoder does not reach cross-attention."""
    return torch.ones_like(real)[:, None, None, :]


@exhibit(
    "documents_mask",
    stage="mask",
    symptom="elsewhere",
    check=cheap_checks.a_packed_text_is_as_alone,
    problem=problems.two_packed_texts,
)
def packed_texts_see_each_other(documents: Tensor) -> Tensor:
    """Texts are packed into one row, and only the causal mask is between them."""
    return torch.ones_like(documents).bool()[:, None, None, :]


@exhibit(
    "window_mask",
    stage="mask",
    symptom="converted",
    check=by_hand.a_window_holds_its_number,
    setting=problems.Setting(window=6),
)
def window_one_too_long(n_query: int, n_key: int, window: int) -> Tensor:
    """A window of w reaches w tokens back, and with the own token holds one too many."""
    return offsets(n_query, n_key) <= window


@exhibit("softmax", stage="mask", symptom="leaks", check=cheap_checks.the_future_is_hidden)
def mask_of_ones_added(scores: Tensor, mask: Tensor) -> Tensor:
    """A mask of ones and zeros is added to the scores: it prefers, and forbids nothing."""
    return torch.softmax(scores + mask, dim=-1)
