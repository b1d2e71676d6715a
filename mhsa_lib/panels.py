"""Panels to turn knobs on, alive where a kernel is, a good still picture where none is.

What a panel shows is made by pure functions, ``describe_shapes`` and ``describe_head``; a panel
only calls them again when a knob turns. Mistakes are answered in words, never by a traceback.
"""

import base64
import io
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt
import torch
from torch import Tensor

from mhsa_lib import checks, plots
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.trace import trace

TEXT = "The animal didn't cross the street because it was too tired."
SPOKEN = 24
"""Queries at most whose strongest key is said in an image's alt text."""

WIDE = {"style": {"description_width": "9em"}, "layout": {"width": "26em"}}


class Panel:
    """Named knobs and the picture they make.

    ``knobs`` are the controls by name, ``picture`` is the HTML of the moment, and
    ``describe(**values)`` makes it. ``panel.knobs["seq"].value = 8`` turns a knob from code.
    """

    def __init__(self, name: str, describe: Callable[..., str], knobs: dict[str, Any]) -> None:
        self.name, self.describe, self.knobs = name, describe, knobs
        self.output = ipywidgets.HTML(self.picture)
        self.box = ipywidgets.VBox([*knobs.values(), self.output])
        for knob in knobs.values():
            knob.observe(self._redraw, names="value")

    @property
    def picture(self) -> str:
        """What the panel shows now, as HTML."""
        return self.describe(**{name: knob.value for name, knob in self.knobs.items()})

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={knob.value!r}" for name, knob in self.knobs.items())
        return f"{self.name}({values})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        view = {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id}
        return {
            "text/plain": repr(self),
            "text/html": self.output.value,
            "application/vnd.jupyter.widget-view+json": view,
        }

    def _redraw(self, change: Any) -> None:
        self.output.value = self.picture


def shape_panel(batch: int = 2, seq: int = 6, d_model: int = 12, n_heads: int = 3) -> Panel:
    """Sizes to change, and the shape of every wire for them.

    The real module is traced on ``device="meta"``, so any size is free. Sizes that do not go
    together show the error's own words, with the repair.

    >>> panel = shape_panel()
    >>> panel.knobs["n_heads"].value = 5
    >>> "n_heads=5 does not divide d_model=12" in panel.picture
    True
    """
    sizes = {"batch": batch, "seq": seq, "d_model": d_model, "n_heads": n_heads}
    checks.positive(**sizes)
    limits = {"batch": 64, "seq": 4096, "d_model": 4096, "n_heads": 64}
    knobs = {
        name: _slider("sequence" if name == "seq" else name, size, 1, max(size, limits[name]))
        for name, size in sizes.items()
    }
    return Panel("shape_panel", describe_shapes, knobs)


def describe_shapes(batch: int, seq: int, d_model: int, n_heads: int) -> str:
    """The shape ledger of multi-head attention at these sizes, as HTML, or why there is none.

    >>> "576 parameters" in describe_shapes(batch=1, seq=4, d_model=12, n_heads=3)
    True
    >>> describe_shapes(batch=1, seq=4, d_model=8, n_heads=3)
    '<p role="alert">n_heads=3 does not divide d_model=8; try d_model=6 or d_model=9, ...</p>'
    """
    try:
        checks.positive(batch=batch, seq=seq)
        with torch.device("meta"):
            mha = MultiHeadAttention(d_model, n_heads)
    except (TypeError, ValueError) as error:
        return _in_words(error)
    with torch.no_grad(), trace(mha) as wires:
        mha(torch.empty(batch, seq, d_model, device="meta"))
    n_parameters = sum(parameter.numel() for parameter in mha.parameters())
    memory = sum(step.bytes for step in wires.steps.values() if step.result == "copy")
    return (
        f'{wires._repr_html_()}<p style="margin:.6em 0 0">In all {n_parameters:,} parameters, '
        f"{wires.flops:,} FLOPs, {memory:,} bytes of new memory.</p>"
    )


def head_panel(model: Any, text: str = TEXT, layer: int = 0, head: int = 0) -> Panel:
    """Text to type, a layer and a head to choose, and where that head looks.

    ``model`` comes from ``pretrained.load()``. Text without tokens, or with too many, shows the
    error's own words. Raises ``ValueError`` for a layer or head that does not exist.
    """
    for name, chosen, n in (("layer", layer, model.n_layers), ("head", head, model.n_heads)):
        if not 0 <= chosen < n:
            raise ValueError(f"{name}={chosen} does not exist; {model} has 0 to {n - 1}.")
    knobs = {
        "text": ipywidgets.Text(
            value=text, description="text", continuous_update=False, **WIDE
        ),
        "layer": _slider("layer", layer, 0, model.n_layers - 1),
        "head": _slider("head", head, 0, model.n_heads - 1),
    }
    return Panel("head_panel", partial(describe_head, model), knobs)


def describe_head(model: Any, text: str, layer: int, head: int) -> str:
    """Where one head of ``model`` looks in ``text``: an image in HTML, or why there is none.

    The image says in words where each query looks most.
    """
    try:
        tokens, weights = model.attend(text)
    except (TypeError, ValueError) as error:
        return _in_words(error)
    name, seen = f"layer {layer}, head {head}", weights[layer, head].cpu()
    png = _png(lambda: plots.heat_map(_steady(seen), tokens, title=name))
    alt = escape(f"Heat map of {name}. {_most(tokens, seen)}")
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    return f'<img alt="{alt}" src="{source}" style="max-width:100%;background:#fff">'


def _slider(name: str, value: int, least: int, most: int) -> Any:
    return ipywidgets.IntSlider(
        value=value, min=least, max=most, description=name, continuous_update=False, **WIDE
    )


def _in_words(error: Exception) -> str:
    return f'<p role="alert">{escape(str(error))}</p>'


def _most(tokens: Sequence[str], weights: Tensor) -> str:
    """Where each query looks most, in a sentence.

    >>> _most(["I", "see"], torch.tensor([[1.0, 0.0], [0.75, 0.25]]))
    'Looks most at: I at I (1.00), see at I (0.75).'
    """
    highest, keys = weights[:SPOKEN].max(dim=-1)
    said = ", ".join(
        f"{query} at {tokens[key]} ({weight:.2f})"
        for query, key, weight in zip(tokens, keys.tolist(), highest.tolist(), strict=False)
    )
    return f"Looks most at: {said}{'.' if len(tokens) <= SPOKEN else ' and so on.'}"


def _steady(weights: Tensor) -> Tensor:
    """Two decimals, so that the picture is the same on every machine; only zero becomes zero.

    >>> _steady(torch.tensor([0.0, 0.004, 0.126]))
    tensor([0.0000, 0.0010, 0.1300])
    """
    rounded = weights.mul(100).round().div(100)
    return rounded.where(rounded != 0, weights.sign() / 1000)


def _png(draw: Callable[[], None]) -> bytes:
    """The picture that ``draw`` makes, as a file, the same bytes every time."""
    file = io.BytesIO()
    draw()
    try:
        plt.savefig(file, format="png", metadata={"Software": None})
    finally:
        plt.close()
    return file.getvalue()
