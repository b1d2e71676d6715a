"""The attention of a variant, filled and in eval mode."""

import pytest
import torch

from tests.helpers.drawn import filled


@pytest.fixture
def attention(variant):
    torch.manual_seed(0)
    return filled(variant.build().double().eval())
