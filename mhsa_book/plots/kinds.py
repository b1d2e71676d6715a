"""Where the time of a call goes: a bar per cell that was lost, cut by kinds of operations."""

from collections.abc import Sequence

from mhsa_book.plots import style
from mhsa_book.plots.charts import plain
from mhsa_book.results.records import OURS, Race

ROW = 0.27
HATCHES = ("", "///", "xx", "...", "\\\\\\")


def profiles(races: Sequence[Race]) -> None:
    """Draw the shares of our time by kind of operation, for the races that have a profile."""
    lost = [race for race in races if race.profile]
    if not lost:
        raise ValueError("there is no profile to draw; none of the races was lost.")
    fig = style.figure(style.WIDTH, ROW * len(lost) + 1.1)
    ax = fig.add_subplot()
    left = [0.0] * len(lost)
    for i, kind in enumerate(lost[0].profile[OURS]):
        shares = [100 * race.share(kind) for race in lost]
        look = {"color": style.SERIES[i], "hatch": HATCHES[i], "edgecolor": style.PAPER}
        ax.barh(
            range(len(lost)), shares, left=left, height=0.8, linewidth=0, label=kind, **look
        )
        left = [start + share for start, share in zip(left, shares, strict=True)]
    ax.set(xlim=(0, 100), ylim=(len(lost) - 0.4, -0.6))
    ax.set_yticks(range(len(lost)), [_name(race) for race in lost])
    plain(ax, "percent of our time", "")
    fig.legend(
        loc="outside upper center", ncols=len(HATCHES), fontsize=style.TEXT, frameon=False
    )


def _name(race: Race) -> str:
    cell = race.cell
    what = f"{cell.n_heads} on {cell.kv_heads}" if cell.mode == "decode" else cell.mask
    last = ["bf16"] if cell.precision != "float32" else []
    last += [f"{cell.n_layers} layers"] if cell.n_layers > 1 else []
    return ", ".join([cell.size, what, cell.mode, *last])
