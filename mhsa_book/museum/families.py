"""Exhibits that are variations of one mistake, so that one sees how many mistakes there are."""

from mhsa_book.museum.catalogue import Exhibit
from mhsa_book.museum.finding import exhibits

VARIATIONS = {
    "the scale is another": (
        *("no_scale", "scale_by_d_model", "multiplied_by_the_root", "scaled_twice"),
        "scaled_after_the_softmax",
    ),
    "a view stands where axes have to be exchanged": (
        *("split_by_view_alone", "concat_without_transpose", "keys_reshaped_not_transposed"),
    ),
    "features go to the wrong heads": (
        *("columns_dealt_like_cards", "heads_and_columns_exchanged"),
    ),
    "q, k and v are mixed up": ("packed_in_another_order", "keys_from_W_Q", "values_from_W_K"),
    "heads do not go through their own part of W_O": (
        *("W_O_forgotten", "one_slice_of_W_O_for_all_heads", "heads_averaged"),
    ),
    "the softmax runs over another axis": ("softmax_over_queries", "softmax_over_heads"),
    "a mask is missing": ("causal_mask_forgotten", "packed_texts_see_each_other"),
    "tokens attend to padding": (
        *("padding_hides_queries", "padding_mask_forgotten", "memory_padding_ignored"),
    ),
    "a mask is off by one": ("one_token_of_the_future", "window_one_too_long"),
    "hidden keys get a number that hides nothing": ("scores_times_mask", "mask_of_ones_added"),
    "a row has no key": ("an_empty_row_is_nan", "two_masks_added"),
    "tokens that are gone are still in the cache": (
        *("the_last_text_is_remembered", "rejected_tokens_stay"),
    ),
    "positions are counted from the wrong place": (
        *("positions_begin_again", "padding_counts_as_positions"),
    ),
    "dropout is in the wrong place or mode": (
        *("dropout_in_evaluation", "dropout_before_the_softmax", "dropout_not_rescaled"),
    ),
    "numbers do not fit into half precision": (
        *("minus_a_billion_in_half", "scores_overflow_in_half", "positions_in_half"),
    ),
}
"""Exhibits by the mistake of which they are variations; any other exhibit is one of its own."""


def families() -> dict[str, tuple[Exhibit, ...]]:
    """Every mistake, and the exhibits that are variations of it, in the order of the pass.

    A mistake with one exhibit goes by its name.

    >>> found = families()
    >>> [each.name for each in found["the softmax runs over another axis"]]
    ['softmax_over_queries', 'softmax_over_heads']
    >>> [each.name for each in found["values_turned_too"]]
    ['values_turned_too']
    """
    mistake = {name: of for of, names in VARIATIONS.items() for name in names}
    found: dict[str, tuple[Exhibit, ...]] = {}
    for each in exhibits():
        of = mistake.get(each.name, each.name)
        found[of] = (*found.get(of, ()), each)
    return found
