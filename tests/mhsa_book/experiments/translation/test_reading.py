"""The encoder's maps are those that the encoder uses."""

import torch
from torch.testing import assert_close

from mhsa_book.examples import language
from mhsa_book.experiments import translation
from mhsa_lib.tracing import trace

PAIRS = language.pairs(3, seed=2)


def test_a_sentence_alone_is_read_as_in_a_padded_batch():
    model = translation.untrained(0)
    found = translation.read(model, PAIRS)
    source, _ = language.batch(PAIRS)
    for layer, each in enumerate(model.encoder):
        with trace(each.self_attention) as wires:
            model.encode(source)
        for i, pair in enumerate(PAIRS):
            n = len(pair.source)
            assert_close(found[i][layer], wires["weights"][i, :, :n, :n])
            assert_close(found[i][layer].sum(dim=-1), torch.ones(4, n))
