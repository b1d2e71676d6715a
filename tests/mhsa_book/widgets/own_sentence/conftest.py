"""The page's MiniLM in node and in a page, beside PyTorch's."""

from pathlib import Path

import pytest
import torch

from mhsa_book.widgets.own_sentence import quantise
from tests.mhsa_book.widgets.engines import Engine, floats, lay_beside
from tests.mhsa_book.widgets.own_sentence.reader import load
from tools.build import assets

RUNS = Path(__file__).with_name("minilm_runs.mjs")


class InNode(Engine):
    """The engine of the page, started once: ``ask("pass", text, off)`` and the like."""

    def __init__(self, asset: Path) -> None:
        super().__init__(RUNS, asset)
        self.took = 0.0

    def ask(self, *question):
        """Return the answer; ``took`` keeps the seconds of it."""
        found = super().ask(*question)
        self.took = found["milliseconds"] / 1000
        return found["answer"]

    def run(self, text: str, off=()):
        """Return the weights (layer, head, query, key) and the vector of the sentence."""
        found = self.ask("pass", text, [12 * layer + head for layer, head in off])
        maps = torch.stack([floats(one) for one in found["weights"]])
        n = round((maps.shape[1] // 12) ** 0.5)
        return maps.reshape(6, 12, n, n), floats(found["vector"])


@pytest.fixture(scope="session")
def in_node(tmp_path_factory):
    file = tmp_path_factory.mktemp("minilm") / "minilm.bin"
    file.write_bytes(quantise.asset().data)
    node = InNode(file)
    yield node
    node.process.communicate()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The files of the model, and their sizes."""
    place = tmp_path_factory.mktemp("assets")
    return place, assets.write(place, (quantise.asset,))


@pytest.fixture
def beside(folder, tmp_path):
    """The model where a page looks for it."""
    place, sizes = folder
    lay_beside(tmp_path, place)
    return sizes


@pytest.fixture
def loaded(open_figure, beside):
    return lambda figure, **options: load(open_figure(figure, **options))
