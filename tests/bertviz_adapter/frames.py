"""What the frames are drawn from: both views, drawn weights, tokens that could break out."""

from pathlib import Path

import pytest
import torch

from mhsa_lib.bertviz_adapter.views import head_view, model_view

ROOT = Path(__file__).parents[2]
NASTY = [
    "</script><script>window.stolen = 1</script>", "\"quote\"'", "back\\slash", "אבג", "😀",
    "x" * 1000, "\u2028", "<!--", "<b>&amp;", "PYTHON_PARAMS", "const params = ", "a\nb", "$&",
    "requirejs(['jquery', 'd3'], function", 'id="layer"', "‮txt",
]  # fmt: skip

views = pytest.mark.parametrize("view", [head_view, model_view])


def weights(n_tokens=3, n_layers=2, n_heads=2):
    return torch.softmax(torch.randn(n_layers, n_heads, n_tokens, n_tokens), dim=-1)
