"""Every notebook, read once and handed to each test by name.

A test that asks for ``chapter`` gets the primer and the numbered ones. Notebooks of the
appendix, a1_…, are for looking things up, and lab notes, lab_01_…, tell how an experiment was
made: they have neither the frame nor the exercises of a chapter.
"""

import functools

import nbformat

from tests.helpers.said import pytest_terminal_summary as pytest_terminal_summary
from tests.helpers.said import say as say
from tools.build.notebooks import notebooks


@functools.cache
def read(path):
    return nbformat.read(path, as_version=4)


def is_chapter(path):
    return path.stem == "primer" or path.stem[0].isdigit()


def pytest_generate_tests(metafunc):
    chapters = [path for path in notebooks() if is_chapter(path)]
    for name, paths in {"notebook": notebooks(), "chapter": chapters}.items():
        if name in metafunc.fixturenames:
            ids = [path.stem for path in paths]
            metafunc.parametrize(name, [read(path) for path in paths], ids=ids)
