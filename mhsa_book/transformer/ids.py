"""Sentences as ids: three that are no words, a batch of sentences, and what a decoder learns.

A batch is padded on the right: a shorter sentence goes on with ``PAD`` where the longest ends.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from mhsa_book.transformer.checks import has_values
from mhsa_lib import masks

PAD, BOS, EOS = 0, 1, 2
"""Padding, begin of sentence and end of sentence; the words of a vocabulary come after them."""


def padded(sentences: Sequence[Sequence[int]]) -> Tensor:
    """Sentences as one tensor of ids (sentence, token), the shorter ones followed by ``PAD``.

    Raises ``ValueError`` for no sentence, an empty one, or a ``PAD`` inside of one.

    >>> padded([[5, 3, 4], [7]]).tolist()
    [[5, 3, 4], [7, 0, 0]]
    """
    if not sentences or not all(map(len, sentences)):
        lengths = [len(sentence) for sentence in sentences]
        raise ValueError(f"sentences of lengths {lengths}; give at least one, none empty.")
    if any(PAD in sentence for sentence in sentences):
        raise ValueError(f"a sentence holds PAD={PAD}; leave padding to this function.")
    longest = max(map(len, sentences))
    return torch.tensor([[*s, *[PAD] * (longest - len(s))] for s in sentences])


def not_padding(ids: Tensor) -> masks.Predicate | None:
    """The mask that keeps everybody from looking at the padding of ``ids`` (…, sentence, key).

    It is ``masks.key_padding`` with the lengths of the sentences; None where there is no
    padding, and on the device ``meta``, where ids have no values. Raises ``ValueError`` for
    padding before the end, or in a sentence that is not in a batch; ``torch.export`` and
    ``torch.compile`` read no values, so a program that they record does not check this.

    >>> not_padding(torch.tensor([[5, 3, 4], [7, 0, 0]]))
    key_padding([3, 1])
    """
    real = ids != PAD
    lengths = real.sum(dim=-1)
    if not has_values(ids):
        return None if ids.is_meta or ids.ndim == 1 else masks.key_padding(lengths)
    if real.all():
        return None
    place = torch.arange(ids.shape[-1], device=ids.device)
    if not torch.equal(real, place < lengths[..., None]):
        raise ValueError(
            f"a word comes after PAD={PAD} in ids {ids.tolist()}; padding stands behind the "
            f"sentence: use transformer.padded."
        )
    if ids.ndim == 1:
        raise ValueError(
            f"one sentence {ids.tolist()} is padded; leave PAD={PAD} out, or pass a batch."
        )
    return masks.key_padding(lengths)


def shifted(target: Tensor) -> tuple[Tensor, Tensor]:
    """What the decoder is given and what it shall say to it, both (…, token).

    ``target`` are sentences that end with ``EOS``. Given is the same one step later, with
    ``BOS`` in front: at every position the decoder has read the words before the one it shall
    say. What it shall say to padding is ``PAD``, which ``loss`` leaves out. Raises
    ``ValueError`` for a sentence that does not end with ``EOS``, or begins with ``BOS``.

    >>> given, wanted = shifted(torch.tensor([[5, 3, 2], [7, 2, 0]]))
    >>> given.tolist()
    [[1, 5, 3], [1, 7, 2]]
    >>> wanted.tolist()
    [[5, 3, 2], [7, 2, 0]]
    """
    _is_a_sentence(target)
    begin = torch.full_like(target[..., :1], BOS)
    return torch.cat([begin, target[..., :-1]], dim=-1), target


def loss(logits: Tensor, wanted: Tensor) -> Tensor:
    """Mean cross-entropy in nats over the words that are wanted; padding counts for nothing.

    ``logits`` (…, token, word) are the decoder's, ``wanted`` (…, token) comes from ``shifted``.
    Raises ``ValueError`` if all of it is padding.

    >>> loss(torch.zeros(2, 3, 8), torch.tensor([[5, 3, 2], [7, 2, 0]])).exp().round()
    tensor(8.)
    """
    if has_values(wanted) and not (wanted != PAD).any():
        raise ValueError(f"all wanted ids are PAD={PAD}, so nothing is asked for.")
    return cross_entropy(logits.flatten(end_dim=-2), wanted.flatten().long(), ignore_index=PAD)


def _is_a_sentence(target: Tensor) -> None:
    if not has_values(target):
        return
    not_padding(target)
    for sentence in target.reshape(-1, target.shape[-1]).tolist():
        words = [word for word in sentence if word != PAD]
        if words[-1:] != [EOS]:
            raise ValueError(
                f"the target {sentence} does not end with EOS={EOS}; put it behind the words."
            )
        if words[0] == BOS:
            raise ValueError(
                f"the target {sentence} begins with BOS={BOS}; leave it out, shifted puts it "
                f"there."
            )
