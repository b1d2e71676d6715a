"""The page's language model in node and in a page, beside Python's."""

from pathlib import Path

import pytest
import torch

from mhsa_book.models import smollm2
from mhsa_book.widgets.language_model_lab import stored, weights
from mhsa_book.widgets.language_model_lab.language_model_lab import MODEL
from tests.mhsa_book.widgets.engines import Engine, floats, lay_beside
from tools.build import assets

RUNS = Path(__file__).with_name("lm_runs.mjs")


class InNode(Engine):
    """The engine of the page, started once, with WebAssembly or without."""

    def __init__(self, means: Path, simd: bool) -> None:
        super().__init__(RUNS, smollm2.installed(), means, "simd" if simd else "plain")

    def run(self, ids, off=(), further=False):
        """Return logits of the next token, and weights (layer, head, keys up to each query)."""
        found = self.ask("pass", ids, list(off), further)
        maps = torch.stack([floats(each) for each in found["weights"]])
        return floats(found["logits"]), maps.unflatten(0, (30, 9))


@pytest.fixture(scope="session")
def started(tmp_path_factory):
    """Start the engine in node: ``started(simd=False)``."""
    file = tmp_path_factory.mktemp("smollm2") / "means.bin"
    file.write_bytes(stored.means().numpy().astype("<f4").tobytes())
    running = []

    def start(simd):
        running.append(InNode(file, simd))
        return running[-1]

    yield start
    for node in running:
        node.process.communicate()


@pytest.fixture(scope="session")
def in_node(started):
    return started(simd=True)


@pytest.fixture(scope="session")
def lm():
    return MODEL()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The files of the model, and their sizes."""
    place = tmp_path_factory.mktemp("assets")
    return place, assets.write(place, (weights.engine, weights.asset))


@pytest.fixture
def beside(folder, tmp_path):
    """The model where a page looks for it."""
    lay_beside(tmp_path, folder[0])
    return folder[1]
