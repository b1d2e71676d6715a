"""A function of the reader's cell under sliders; its outputs are stored for static pages."""

from collections.abc import Callable, Sequence
from html import escape
from itertools import product
from math import prod
from typing import Any

import ipywidgets
from traitlets import List, TraitError, validate

from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.interact.stored import as_html, stored
from mhsa_book.widgets.rules import Rule, parts, whole

MOST = 12
"""Settings of one figure: each is an output that the page carries."""

VIEW = "application/vnd.jupyter.widget-view+json"


class Interact(Figure):
    """``ipywidgets.interact`` with a memory: a function, and one or two lists of settings.

    In a notebook each list is a slider of ipywidgets, and moving it calls ``draw`` again. On a
    page without a kernel the same sliders choose among the outputs that ``draw`` had when the
    cell ran; without scripts all of them stand one below the other. ``draw`` prints, returns
    something (shown as text, unless it is None) or draws with matplotlib. ``alt`` says what a
    picture shows; a setting's name in braces stands for its value. ``at`` holds the position of
    each slider.

    Raises ``ValueError`` for no or more than two lists, for a list of fewer than two different
    values, for more than twelve settings, and for a picture without ``alt``.

    >>> powers = Interact(lambda base, power: base**power, base=[2, 10], power=[1, 2, 3])
    >>> powers.at = [1, 2]
    >>> powers.shown["text"]
    '1000'
    """

    names: "List[Any]" = List().tag(sync=True)
    values: "List[Any]" = List().tag(sync=True)
    outputs: "List[Any]" = List().tag(sync=True)
    at: "List[Any]" = List().tag(sync=True)

    def __init__(
        self, draw: Callable[..., Any], *, alt: str = "", **choices: Sequence[Any]
    ) -> None:
        self._draw, self._alt = draw, alt
        self._choices = {name: list(values) for name, values in choices.items()}
        _check(self._choices)
        settings = product(*(range(len(values)) for values in self._choices.values()))
        super().__init__(
            names=list(choices),
            values=[[str(value) for value in values] for values in self._choices.values()],
            outputs=[stored(draw, alt, self._setting(at)) for at in settings],
            at=[0] * len(choices),
        )

    @validate("at")
    def _inside(self, proposal: Any) -> Any:
        at, sizes = proposal["value"], [len(values) for values in self.values]
        fits = len(at) == len(sizes) and all(
            type(i) is int and 0 <= i < n for i, n in zip(at, sizes, strict=True)
        )
        if not fits:
            raise TraitError(f"at={at} holds no position in lists of {sizes}; count from 0.")
        return at

    def _setting(self, at: Sequence[int]) -> dict[str, Any]:
        return {n: v[i] for (n, v), i in zip(self._choices.items(), at, strict=True)}

    @property
    def shown(self) -> dict[str, Any]:
        """What the function now prints, draws and returns at this setting: it is called."""
        return stored(self._draw, self._alt, self._setting(self.at))

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        return {"at": parts(*(whole(0, len(values) - 1) for values in self.values))}

    @property
    def alt(self) -> str:
        return (
            f"{len(self.outputs)} outputs, one for each setting of {' and '.join(self.names)}."
        )

    def without_script(self) -> str:
        """All outputs, one below the other, each under its setting."""
        settings = product(*self.values)
        return "".join(
            f"<details open><summary>{escape(_words(self.names, setting))}</summary>"
            f"{as_html(output)}</details>"
            for setting, output in zip(settings, self.outputs, strict=True)
        )

    def live(self) -> ipywidgets.VBox:
        """Sliders of ipywidgets over what the function makes of them."""
        sliders = [
            ipywidgets.SelectionSlider(
                options=[(text, i) for i, text in enumerate(texts)],
                value=i,
                description=name,
                style={"description_width": "initial"},
            )
            for name, texts, i in zip(self.names, self.values, self.at, strict=True)
        ]
        # Not an Output: who executes a notebook without widgets would take that for the cell's.
        place = ipywidgets.HTML(as_html(self.shown))

        def move(_: Any) -> None:
            self.at = [slider.value for slider in sliders]

        def follow(_: Any) -> None:
            for slider, i in zip(sliders, self.at, strict=True):
                slider.value = i
            place.value = as_html(self.shown)

        for slider in sliders:
            slider.observe(move, "value")
        self.observe(follow, "at")
        return ipywidgets.VBox([*sliders, place])

    def __repr__(self) -> str:
        lists = ", ".join(f"{name}={values}" for name, values in self._choices.items())
        return f"Interact({lists})"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return {**data, VIEW: self.live()._repr_mimebundle_(**kwargs)[VIEW]}, metadata


def _words(names: Sequence[str], texts: Sequence[str]) -> str:
    """A setting in words: ``heads = 4, ranks = 2``."""
    return ", ".join(f"{name} = {text}" for name, text in zip(names, texts, strict=True))


def _check(choices: dict[str, list[Any]]) -> None:
    """One or two lists of different values, and few enough outputs to store."""
    if not 1 <= len(choices) <= 2:
        raise ValueError(
            f"{len(choices)} lists of settings; pass one or two, as in n_heads=[1, 2, 4]."
        )
    for name, values in choices.items():
        if len({str(value) for value in values}) < max(len(values), 2):
            raise ValueError(
                f"{name}={values} is not a choice; give two or more different values."
            )
    sizes = [len(values) for values in choices.values()]
    if prod(sizes) > MOST:
        raise ValueError(
            f"{' · '.join(map(str, sizes))} = {prod(sizes)} settings are more than the {MOST} "
            f"that a page stores; leave out values of {' or '.join(choices)}."
        )
