"""One thread, one seed, and the same drawn cases on every machine; what is too new for it."""

from importlib.metadata import version

import pytest
import torch
from hypothesis import Phase, settings
from torch.utils import backend_registration

torch.set_num_threads(1)
settings.register_profile("book", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("mutants", settings.get_profile("book"), phases=[Phase.generate])
settings.register_profile("many", max_examples=300, deadline=None)  # others every time
settings.load_profile("book")

collect_ignore, reasons = [], []
if int(version("transformers").partition(".")[0]) < 5:
    collect_ignore += ["convert/llama", "convert/test_deepseek.py", "rope/test_stretches.py"]
    collect_ignore += ["helpers/theirs.py"]
    reasons += ["written for classes of transformers 5; convert/test_before_5.py runs instead"]
if not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"):
    collect_ignore += ["helpers/twin.py", "helpers/elsewhere.py", "notebooks/test_elsewhere.py"]
    reasons += ["this torch cannot play a second device in Python"]


def pytest_report_header():
    return (
        f"not run here: {', '.join(collect_ignore)} ({'; '.join(reasons)})" if reasons else []
    )


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
