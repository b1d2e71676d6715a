"""A scaled text grows call by call: no kept key would have to turn again."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import convert, masks
from mhsa_lib.cache import kv_cache
from tests.helpers.drawn import rand
from tests.mhsa_lib.convert.llama.layers import rope, source


@pytest.mark.parametrize("name", ["linear", "llama3", "yarn"])
def test_any_cut_of_a_stretched_text_gives_the_numbers_of_one_pass(name):
    module = source("llama", rope_parameters=rope(name))
    ours, x = convert.from_llama(module), rand(2, 20, 12)
    with kv_cache(ours):
        found = [ours(part, mask=masks.causal) for part in x.split([3, 6, 1, 10], dim=1)]
    assert_close(torch.cat(found, dim=1), ours(x, mask=masks.causal))
