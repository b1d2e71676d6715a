"""What the part of the bench that needs a GPU calls: it is not run here, but it can be read."""

import ast
from inspect import signature
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from mhsa_book.bench import judge

FOLDER = Path(judge.__file__).parent
CALLS = {
    "create_block_mask": create_block_mask,
    "flex_attention": flex_attention,
    "flex": flex_attention,
    "compiled": flex_attention,
    "sdpa_kernel": sdpa_kernel,
    "scaled_dot_product_attention": None,  # built in: its signature is its documentation
    "synchronize": torch.cuda.synchronize,
    "graph": torch.cuda.graph,
    "stream": torch.cuda.stream,
    "Stream": torch.cuda.Stream,
    "get_device_name": torch.cuda.get_device_name,
    "memory_allocated": torch.cuda.memory_allocated,
    "max_memory_allocated": torch.cuda.max_memory_allocated,
    "reset_peak_memory_stats": torch.cuda.reset_peak_memory_stats,
}


def calls(file: str) -> list[ast.Call]:
    nodes = ast.walk(ast.parse((FOLDER / file).read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, ast.Call) and named(node) in CALLS]


def named(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


@pytest.mark.parametrize("file", ["cuda.py", "cuda_core.py"])
def test_what_is_called_takes_what_it_is_given(file):
    found = calls(file)
    assert found
    for call in found:
        names = {keyword.arg for keyword in call.keywords if keyword.arg}
        if CALLS[named(call)] is None:
            assert all(f"{name}=" in F.scaled_dot_product_attention.__doc__ for name in names)
            continue
        if any(isinstance(each, ast.Starred) for each in call.args):
            assert names <= signature(CALLS[named(call)]).parameters.keys()
            continue
        bound = dict.fromkeys(names)
        signature(CALLS[named(call)]).bind(*[None] * len(call.args), **bound)
