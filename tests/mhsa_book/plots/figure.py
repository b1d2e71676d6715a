"""The one figure that a call draws, its panels and what is written in it."""

import matplotlib.pyplot as plt
from matplotlib.text import Text


def drawn():
    """Return the one figure there is, with everything laid out."""
    assert len(plt.get_fignums()) == 1
    fig = plt.gcf()
    fig.canvas.draw()
    return fig


def panels(fig):
    return [ax for ax in fig.axes if ax.images]


def words(fig):
    return [text for text in fig.findobj(Text) if text.get_visible() and text.get_text()]


def said(fig):
    return {text.get_text() for text in words(fig)}


def tick_labels(fig):
    axes = [axis for ax in fig.axes for axis in (ax.xaxis, ax.yaxis)]
    return {label for axis in axes for label in axis.get_ticklabels(which="both")}
