"""One thread, one seed, and the same drawn cases on every machine."""

import pytest
import torch
from hypothesis import Phase, settings

torch.set_num_threads(1)
settings.register_profile("book", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("mutants", settings.get_profile("book"), phases=[Phase.generate])
settings.register_profile("many", max_examples=300, deadline=None)  # others every time
settings.load_profile("book")


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
