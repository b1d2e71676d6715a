"""What a caller may pass as text or as token ids: whole characters, and rows of the table."""

from typing import Any

import torch
from torch import Tensor

from mhsa_lib.execution_mode import is_eager


def check_ids(name: str, given: Any, n_tokens: int) -> None:
    """Whole numbers from 0 to ``n_tokens`` - 1, in the dtypes that an embedding reads.

    Only the dtype is checked where ids have no values, as ``has_values`` says.

    >>> check_ids("source", torch.tensor([[3, 7]]), n_tokens=5)
    Traceback (most recent call last):
    ...
    ValueError: source holds the id 7, but n_tokens=5; ids are 0 to 4.
    """
    if not isinstance(given, Tensor):
        raise TypeError(
            f"{name} is a {type(given).__name__}; pass a tensor of ids, torch.tensor({name})."
        )
    if given.dtype not in (torch.int64, torch.int32):
        raise TypeError(
            f"{name} has dtype {given.dtype}; ids are whole numbers: call {name}.long()."
        )
    if given.ndim == 0 or given.shape[-1] == 0:
        raise ValueError(
            f"{name} has shape {tuple(given.shape)}; a sentence has at least one token, "
            f"(…, seq)."
        )
    if not has_values(given) or not given.numel():
        return
    least, largest = int(given.min()), int(given.max())
    if least < 0 or largest >= n_tokens:
        wrong = least if least < 0 else largest
        raise ValueError(
            f"{name} holds the id {wrong}, but n_tokens={n_tokens}; ids are 0 to "
            f"{n_tokens - 1}."
        )


def has_values(ids: Tensor) -> bool:
    """Whether ids are numbers that can be read: not on ``meta``, and not of a recorded program.

    >>> has_values(torch.tensor([3])), has_values(torch.empty(1, device="meta"))
    (True, False)
    """
    return not ids.is_meta and is_eager()


def check_room(name: str, last: int, n_positions: int) -> None:
    """Positions are learned one by one, so there is none for a token behind the last of them.

    >>> check_room("target", last=17, n_positions=16)
    Traceback (most recent call last):
    ...
    ValueError: target reaches token 17, but n_positions=16; shorten it, or build the model ...
    """
    if last > n_positions:
        raise ValueError(
            f"{name} reaches token {last}, but n_positions={n_positions}; shorten it, or build "
            f"the model for more."
        )


def whole_characters(name: str, given: str) -> None:
    """Raise ValueError for text with a lone surrogate, half of a character.

    JavaScript may hand one over, and neither UTF-8 nor a file can hold it.

    >>> whole_characters("tokens", "a" + chr(0xD83D))
    Traceback (most recent call last):
    ...
    ValueError: tokens holds half of a character, U+D83D at 1; pass the whole character, ...
    """
    for place, letter in enumerate(given):
        if "\ud800" <= letter <= "\udfff":
            raise ValueError(
                f"{name} holds half of a character, U+{ord(letter):X} at {place}; pass the "
                f'whole character, or text.encode("utf-8", "replace").decode("utf-8").'
            )
