"""What the frames are drawn from and what they say: views, weights, tokens that break out."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

from mhsa_book.bertviz import head_view, model_view, neuron_view
from mhsa_book.bertviz import page as bertviz_page

ROOT = Path(__file__).parents[3]
NASTY = [
    "</script><script>window.stolen = 1</script>", "\"quote\"'", "back\\slash", "אבג", "😀",
    "x" * 1000, "\u2028", "<!--", "<b>&amp;", "PYTHON_PARAMS", "const params = ", "a\nb", "$&",
    "requirejs(['jquery', 'd3'], function", 'id="layer"', "‮txt",
]  # fmt: skip


def drawn_neurons(w, tokens, **options):
    """Return a neuron view of queries and keys that are made of ``w``."""
    return neuron_view(4 * w, 4 * w.flip(-1), tokens, **options)


views = pytest.mark.parametrize("view", [head_view, model_view, drawn_neurons])


def weights(n_tokens=3, n_layers=2, n_heads=2):
    return torch.softmax(torch.randn(n_layers, n_heads, n_tokens, n_tokens), dim=-1)


class Frame(HTMLParser):
    """Collects tags, and the text of every script."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.tags[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data


def params(view):
    """Return the parameters as the script has them."""
    (script,) = [s for s in Frame(view.page).scripts if bertviz_page.PARAMS in s]
    _, after = script.split(bertviz_page.PARAMS, 1)
    return json.JSONDecoder().raw_decode(after)[0]


def shown(view):
    """Return what is drawn: a list of one for two of the scripts, a dict of one for a third."""
    attention = params(view)["attention"]
    return attention["all"] if isinstance(attention, dict) else attention[0]


def drawn(page, at=0):
    """Return a frame of the page as soon as it shows lines."""
    page.wait_for_selector("iframe")
    frame = page.query_selector_all("iframe")[at].content_frame()
    frame.wait_for_selector("line", state="attached")
    return frame
