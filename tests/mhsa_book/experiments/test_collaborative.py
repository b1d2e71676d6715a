"""The lookup task asks what its description says, and everything asked is there to be found."""

import pytest
import torch

from mhsa_book.experiments.collaborative import BLOCKS, SYMBOLS, draw


@pytest.mark.parametrize("one_symbol", [True, False])
def test_every_answer_lies_in_the_block_under_the_symbol_asked_for(one_symbol):
    tokens, bits = draw(torch.Generator().manual_seed(0), one_symbol=one_symbol)
    items, queries = tokens.split([BLOCKS * SYMBOLS, SYMBOLS], dim=1)
    asked = queries[..., : BLOCKS * SYMBOLS].unflatten(-1, (BLOCKS, SYMBOLS))
    assert (asked.sum(dim=-1) == 1).all()
    symbol, block = items[..., :SYMBOLS], items[..., -BLOCKS - 2 : -2]
    for place in range(BLOCKS):
        fits = (asked[:, :, place] @ symbol.mT) * block[:, None, :, place]
        assert (fits.sum(dim=-1) == 1).all()
        found = (fits @ items[..., -2, None]).squeeze(-1) > 0
        assert torch.equal(found.long(), bits[..., place])


@pytest.mark.parametrize("one_symbol", [True, False])
def test_a_query_names_one_symbol_or_one_for_each_block(one_symbol):
    tokens, _ = draw(torch.Generator().manual_seed(0), one_symbol=one_symbol)
    queries = tokens[:, -SYMBOLS:, : BLOCKS * SYMBOLS].unflatten(-1, (BLOCKS, SYMBOLS))
    named = queries.argmax(dim=-1)
    assert (named == named[..., :1]).all() == one_symbol
