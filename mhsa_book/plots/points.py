"""Two measures of many heads against each other, a few of them by name."""

from collections.abc import Collection, Mapping

from mhsa_book.plots import style
from mhsa_book.plots.charts import plain

Points = Mapping[str, tuple[float, float]]
"""Two numbers of every head, by its name."""


def points(panels: Mapping[str, tuple[Points, Collection[str]]], ylabel: str) -> None:
    """Draw a panel for each name of a measure, a point for each head, and some with names.

    The measure of a panel goes to the right, ``ylabel`` upwards; panels share the latter. A
    point with a name is large and dark. Raises ``ValueError`` where there is no panel, or a
    name belongs to no point.

    >>> points({"weight": ({"L0H0": (0.1, 2.0), "L0H1": (0.9, -1.0)}, ["L0H1"])}, "effect")
    """
    if not panels:
        raise ValueError("there is nothing to draw; give a panel with points.")
    for title, (values, named) in panels.items():
        if unknown := {*named} - {*values}:
            raise ValueError(
                f"{title!r} names {sorted(unknown)}, of which it has no points; name some of "
                f"{[*values][:3]} …"
            )
    fig = style.figure(style.WIDTH, 4.0)
    axes = fig.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, (title, (values, named)) in zip(axes, panels.items(), strict=True):
        others = [at for name, at in values.items() if name not in named]
        if others:
            ax.scatter(*zip(*others, strict=True), s=14, color=style.SERIES[4], alpha=0.7)
        for name in named:
            ax.plot(*values[name], "o", color=style.SERIES[0], markersize=7)
        ax.axhline(0, color=style.INK, linewidth=0.8)
        ax.margins(x=0.2, y=0.12)
        plain(ax, style.label(title, longest=60), "")
    axes[0].set_ylabel(style.label(ylabel, longest=60), fontsize=style.TEXT)
    for ax, (values, named) in zip(axes, panels.values(), strict=True):
        middle = sum(ax.get_xlim()) / 2
        for name in named:
            right = values[name][0] > middle  # a name points inwards, so that none is cut off
            ax.annotate(
                name,
                values[name],
                xytext=(-8 if right else 8, 7),  # above the line at zero
                textcoords="offset points",
                ha="right" if right else "left",
                va="center",
                fontsize=style.TEXT,
                color=style.INK,
                parse_math=False,
            )
