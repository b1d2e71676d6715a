"""Where the heads of a translator's encoder look, sentence by sentence."""

from collections.abc import Sequence
from contextlib import ExitStack

import torch
from torch import Tensor

from mhsa_book.examples import language
from mhsa_book.transformer import EncoderDecoder
from mhsa_lib.tracing import trace


@torch.no_grad()
def read(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> list[Tensor]:
    """The encoder's weights for every source sentence, (layer, head, query, key).

    >>> model = EncoderDecoder(len(language.SOURCE), len(language.TARGET), 13)
    >>> [tuple(each.shape) for each in read(model, language.pairs(2))]
    [(2, 4, 4, 4), (2, 4, 8, 8)]
    """
    found, paths = [], [f"encoder.{i}.self_attention" for i in range(len(model.encoder))]
    for pair in pairs:
        source, _ = language.batch([pair])
        with ExitStack() as stack:
            wires = [stack.enter_context(trace(model.get_submodule(path))) for path in paths]
            model.encode(source)
        found.append(torch.stack([each["weights"][0] for each in wires]))
    return found
