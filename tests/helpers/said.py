"""What tests have to say beside passing: lines that are shown at the end of the run."""

from collections import defaultdict

import pytest


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
