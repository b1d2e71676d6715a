"""What one call of a reader's function prints, returns and draws, kept as data."""

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from html import escape
from typing import Any

import matplotlib.pyplot as plt

from mhsa_book.widgets.figure import picture


def stored(draw: Callable[..., Any], alt: str, setting: dict[str, Any]) -> dict[str, Any]:
    """Call a function once; its text, its pictures as data URLs, and their words.

    >>> stored(lambda n: print("twice", 2 * n), "", {"n": 3})
    {'text': 'twice 6', 'pictures': [], 'alt': ''}
    """
    before, printed = set(plt.get_fignums()), io.StringIO()
    try:
        with redirect_stdout(printed):
            returned = draw(**setting)
        drawn = [number for number in plt.get_fignums() if number not in before]
        if drawn and not alt:
            raise ValueError(
                'The function draws a picture and no words say what it shows; pass alt="…", '
                f"in which {{{next(iter(setting))}}} stands for the value."
            )
        pictures = [picture(number) for number in drawn]
    finally:
        for number in set(plt.get_fignums()) - before:
            plt.close(number)
    text = printed.getvalue()
    if returned is not None and not hasattr(returned, "savefig"):
        text += str(returned)
    words = alt.format(**setting) if pictures else ""
    return {"text": text.rstrip("\n"), "pictures": pictures, "alt": words}


def as_html(output: dict[str, Any]) -> str:
    """An output where nothing but HTML is shown; the page's own script draws it likewise.

    >>> as_html({"text": "1 < 2", "pictures": [], "alt": ""})
    '<pre style="white-space:pre-wrap">1 &lt; 2</pre>'
    """
    text = escape(output["text"])
    card = "max-width:100%;background:#fff"
    return (f'<pre style="white-space:pre-wrap">{text}</pre>' if text else "") + "".join(
        f'<img alt="{escape(output["alt"])}" src="{url}" style="{card}">'
        for url in output["pictures"]
    )
