"""What a step waits for: the time that each resource needs, beside the time that it takes."""

from collections.abc import Mapping

from mhsa_book.plots import style
from mhsa_book.plots.charts import plain

HATCHES = ("", "///", "...", "xx")
ROW = 0.26


def waits(steps: Mapping[str, Mapping[str, float]], measured: Mapping[str, float]) -> None:
    """Draw, for every step, a bar for each resource as a share of the measured time.

    ``steps`` holds seconds by step and resource, ``measured`` the seconds that the step took,
    which is the line at 1. Every bar carries the name of its resource. Raises ``ValueError``
    where there is no step, or one was not measured.

    >>> waits({"token": {"arithmetic": 0.003, "memory": 0.045}}, {"token": 0.057})
    """
    if not steps:
        raise ValueError("there is nothing to draw; give a step with its seconds.")
    for step, needed in steps.items():
        if not measured.get(step, 0) > 0 or not needed:
            raise ValueError(
                f"step {step!r} has no measured time, or needs nothing; give seconds above 0."
            )
    count = sum(map(len, steps.values()))
    fig = style.figure(style.WIDTH, 1.1 + ROW * (count + len(steps)))
    ax = fig.add_subplot()
    shares = {
        step: {name: seconds / measured[step] for name, seconds in needed.items()}
        for step, needed in steps.items()
    }
    most = max(1.0, *(share for each in shares.values() for share in each.values()))
    ax.set_xlim(0, 1.4 * most)
    names = list(dict.fromkeys(name for each in shares.values() for name in each))
    row, middles = 0, []
    for each in shares.values():
        middles.append(row + (len(each) - 1) / 2)
        for name, share in each.items():
            at = names.index(name)
            look = {"hatch": HATCHES[at % 4], "edgecolor": style.INK, "linewidth": 0.8}
            ax.barh(row, share, height=0.8, color=style.SERIES[at % 8], **look)
            paper = {"facecolor": style.PAPER, "edgecolor": "none", "pad": 0.8}
            ax.text(
                share + 0.006 * most,
                row,
                style.label(name, longest=24) + f" {share:.0%}",
                bbox=paper,
                va="center",
                fontsize=style.TEXT,
                parse_math=False,
            )
            row += 1
        row += 1
    ax.axvline(1, color=style.INK, linewidth=1.2, linestyle="--")
    ax.set_ylim(row - 1.4, -0.6)
    ax.set_yticks(middles, [style.label(step, longest=24) for step in steps], parse_math=False)
    plain(ax, "share of the measured time (dashed: measured)", "")
