"""A trained model inside the page: type, look through every head, switch heads off."""

from functools import cache
from typing import Any

import torch
from traitlets import Bytes, Int, List, Unicode, validate

from mhsa_book import plots
from mhsa_book.models import repeater
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, items, parts, whole

HABITS = {
    "previous": "previous token",
    "second_previous": "second previous",
    "induction": "induction",
}


class RepeaterLab(Figure):
    """The model of ``repeater.load()``: what it expects, its heads, what breaks without them.

    ``text`` is what it reads, ``off`` holds the heads that are switched off as [layer, head],
    ``large`` the head that is drawn large, ``position`` the token whose prediction is shown
    (None for the last; 0 is the start token). All can be set from Python and by the reader.
    Raises ``ValueError`` for a text that the model cannot read and for a head or a position
    that does not exist.

    >>> lab = RepeaterLab("abcxyzabcx")
    >>> lab.off = [[0, 2]]  # the previous-token head
    """

    not_in_a_link = "the text"

    text = Unicode().tag(sync=True)
    off = List(List(Int())).tag(sync=True)
    large = List(Int(), default_value=[1, 3]).tag(sync=True)
    position = Int(None, allow_none=True).tag(sync=True)

    packed = Bytes().tag(sync=True)
    tensors: "List[Any]" = List().tag(sync=True)
    habits: "List[Any]" = List().tag(sync=True)
    alphabet = Unicode(repeater.ALPHABET).tag(sync=True)

    def __init__(self, text: str = "abcxyzabcx", **choices: Any) -> None:
        values, tensors = packed()
        super().__init__(packed=values, tensors=tensors, habits=habits(), text=text, **choices)

    @validate("text")
    def _readable(self, proposal: Any) -> str:
        repeater.encode(proposal["value"])
        return proposal["value"]

    @validate("off", "large")
    def _existing(self, proposal: Any) -> list[Any]:
        value = proposal["value"]
        heads = value if proposal["trait"].name == "off" else [value]
        with repeater.without(trained(), *map(tuple, heads)):
            return value

    @validate("position")
    def _inside(self, proposal: Any) -> int | None:
        position, last = proposal["value"], len(self.text)
        if position is not None and not 0 <= position <= last:
            raise ValueError(f"position={position} does not exist; the text has 0 to {last}.")
        return position

    def rules(self) -> dict[str, Rule]:
        """Heads, but not the text: what is pointed at in a typed one may not be there."""
        model = trained()
        head = parts(whole(0, model.n_layers - 1), whole(0, model.n_heads - 1))
        return {"off": items(head, model.n_layers * model.n_heads), "large": head}

    @property
    def alt(self) -> str:
        """The head that is drawn large, the heads that are off, and what comes next."""
        layer, head = self.large
        with repeater.without(trained(), *map(tuple, self.off)):
            after = trained().predict(self.text)[-1]
        off = ", ".join(f"L{layer}H{head}" for layer, head in self.off) or "none"
        return (
            f"Heat map of layer {layer}, head {head} on the text {self.text!r}. Heads switched "
            f"off: {off}. The model goes on with {repeater.spell(after.argmax()[None])[0]}, "
            f"probability {after.max():.2f}."
        )

    def still(self) -> None:
        """The head that is drawn large, as a heat map."""
        layer, head = self.large
        with repeater.without(trained(), *map(tuple, self.off)):
            tokens, weights = trained().attend(self.text)
        plots.heat_map(weights[layer, head], tokens, title=f"layer {layer}, head {head}")


trained = cache(repeater.load)


@cache
def packed() -> tuple[bytes, list[list[Any]]]:
    """All weights in half precision, one matrix after the other, and [name, rows, columns].

    >>> values, layout = packed()
    >>> layout[0], len(values)
    (['tokens', 38, 64], 83456)
    """
    tensors = {
        name.replace("layers.", "").replace("project.", "").removesuffix(".weight"): value
        for name, value in trained().state_dict().items()
    }
    values = b"".join(value.half().cpu().numpy().tobytes() for value in tensors.values())
    return values, [[name, *value.shape] for name, value in tensors.items()]


@cache
def habits() -> list[list[str]]:
    """What each head was measured to do, layer by layer: its highest score, if above a half.

    >>> [habit.split()[0] for habit in habits()[1]]
    ['induction', 'induction', 'induction', 'induction']
    """
    scores = torch.tensor([repeater.recorded()["heads"][name] for name in HABITS])
    names = list(HABITS.values())
    return [
        [
            f"{names[int(own.argmax())]} {own.max():.2f}"
            if own.max() > 0.5
            else "no clear habit"
            for own in layer
        ]
        for layer in scores.movedim(0, -1)
    ]
