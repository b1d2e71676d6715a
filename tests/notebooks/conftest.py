"""Every notebook, read once and handed to each test by name."""

import functools

import nbformat

from tools.build.notebooks import notebooks


@functools.cache
def read(path):
    return nbformat.read(path, as_version=4)


def pytest_generate_tests(metafunc):
    if "notebook" in metafunc.fixturenames:
        paths = notebooks()
        ids = [path.stem for path in paths]
        metafunc.parametrize("notebook", [read(path) for path in paths], ids=ids)
