"""Nested and sparse tensors are refused in every block, with the call that makes them dense."""

import pytest
import torch

from mhsa_lib import edit, kv_cache, trace
from tests.helpers.drawn import mha, rand


@pytest.mark.bothways
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
@pytest.mark.parametrize("tool", [trace, kv_cache, lambda attention: edit(attention, "z", abs)])
def test_nested_and_sparse_tensors_are_refused(tool):
    attention, parts = mha(), [rand(3, 12), rand(2, 12)]
    for layout in (torch.strided, torch.jagged):
        words = r"x is a nested tensor; pass a dense one, x\.to_padded_tensor\(0\.0\), and the"
        nested = torch.nested.nested_tensor(parts, layout=layout)
        with pytest.raises(TypeError, match=words), tool(attention):
            attention(nested)
        with pytest.raises(TypeError, match="context is a nested"), trace(attention):
            attention(rand(2, 3, 12), nested)
    for x, layout in (
        (rand(2, 3, 12).to_sparse(), "coo"),
        (rand(3, 12).to_sparse_csr(), "csr"),
    ):
        words = rf"x has the layout torch.sparse_{layout}; pass a dense tensor: x\.to_dense\(\)"
        with pytest.raises(TypeError, match=words), tool(attention):
            attention(x)
    with pytest.raises(TypeError, match=r"mask has the layout torch\.sparse_coo"):
        attention(rand(3, 12), mask=torch.ones(3, 3, dtype=torch.bool).to_sparse())
