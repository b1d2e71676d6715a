"""Decoders start again at the context, all layers of them."""

import pytest
import torch

from mhsa_book.bench import decoding
from mhsa_book.bench.problem import Problem
from mhsa_book.bench.registry import DECODERS
from mhsa_book.equivalence.peers import NotApplicableError
from mhsa_book.results.cells import Cell


def test_every_layer_decodes_and_starts_again():
    seen = []
    layers = [
        decoding.Decoder(lambda x, i=i: seen.append((i, x)), lambda i=i: seen.append(i))
        for i in range(3)
    ]
    entrant = decoding.entrant(layers, torch.ones(1))
    entrant.reset()
    entrant.call()
    assert seen == [0, 1, 2, *((i, torch.ones(1)) for i in range(3))]


@pytest.mark.parametrize("name", [n for n in DECODERS if n != "torchtune"])
def test_every_decoder_starts_again_at_the_context(name):
    given = Problem(Cell(2, 8, 16, 4, mode="decode", n_kv_heads=2))
    try:
        decoder = DECODERS[name](decoding.Past(given))
    except (ImportError, NotApplicableError) as error:
        pytest.skip(str(error))
    x = given.x[:, :1]
    with torch.inference_mode():
        decoder.reset()
        first, second = decoder.step(x), decoder.step(x)
        decoder.reset()
        again = decoder.step(x)
    torch.testing.assert_close(first, again)
    assert not torch.allclose(first, second)
