"""What an attention makes of a context is made once, and gives the numbers of one pass."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import masks
from mhsa_lib.cache import kv_cache
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.registry import staged


@staged
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
def test_queries_one_by_one_find_the_same_context(variant, attention, batch):
    if variant.positional:
        block = kv_cache(attention, context=rand(*batch, 6, 12))
        with pytest.raises(TypeError, match="places queries"), block:
            pass
        return
    x, context = rand(*batch, 4, 12), rand(*batch, 6, 12)
    for mask in (None, masks.custom(lambda query, key: key < 4)):
        whole = attention(x, context, mask=mask)
        with kv_cache(attention, context=context) as kept:
            parts = [attention(part, context, mask=mask) for part in x.split(1, dim=-2)]
        assert_close(torch.cat(parts, dim=-2), whole)
        assert kept.wires
