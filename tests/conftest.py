"""One thread, one seed, and the same drawn cases on every machine."""

from collections import defaultdict

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


@pytest.fixture
def say(record_property):
    """Lines for the end of the run, which are shown when the test passes too."""

    def lines(title, rows):
        record_property("said", [title, *rows])

    return lines


def pytest_terminal_summary(terminalreporter):
    sections = defaultdict(list)
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, (title, *rows) in report.user_properties:
            if name == "said" and report.when == "call":
                sections[title] += rows
    for title, rows in sections.items():
        terminalreporter.section(title)
        for row in rows:
            terminalreporter.write_line(row)
