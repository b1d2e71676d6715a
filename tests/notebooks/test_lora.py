"""What the guide says about PEFT and ``nn.MultiheadAttention``; red when PEFT mends it."""

from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

peft = pytest.importorskip("peft")


def adapted():
    """An attention, its adapted copy, and the updates of in_proj and out_proj."""
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(8, 2, batch_first=True).double()
    lora = peft.LoraConfig(r=2, target_modules=["attention"], init_lora_weights=False)
    model = nn.ModuleDict({"attention": deepcopy(attention)})
    wrapped = peft.get_peft_model(model, lora).base_model.model["attention"]
    changes = []
    for part in (wrapped, wrapped.base_layer.out_proj):
        A, B = part.lora_A["default"].weight, part.lora_B["default"].weight
        changes.append(part.scaling["default"] * (B @ A).detach())
    return attention, wrapped, changes


def by_hand(attention, changes, times, x):
    changed = deepcopy(attention)
    with torch.no_grad():
        changed.in_proj_weight += changes[0]
        changed.out_proj.weight += times * changes[1]
        return changed(x, x, x)[0]


@pytest.mark.parametrize("merged", [False, True])
@torch.no_grad()
def test_the_update_of_out_proj_is_added_twice_and_once_where_it_is_halved(merged):
    x = torch.randn(1, 4, 8).double()
    for scale, times in ((1.0, 2), (0.5, 1)):
        attention, wrapped, changes = adapted()
        wrapped.base_layer.out_proj.set_scale("default", scale)
        if merged:
            wrapped.merge()
        expected = by_hand(attention, changes, times, x)
        assert_close(wrapped(x, x, x)[0], expected, rtol=0, atol=1e-12)
        once = by_hand(attention, changes, 3 - times, x)
        assert (expected - once).abs().max() > 0.1
