"""Tables drawn as squares: masks, and the comparison of implementations."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from matplotlib.patches import Patch, Rectangle
from torch import Tensor

from mhsa_book.plots import style
from mhsa_lib import checks
from mhsa_lib.masks.predicates import Predicate

ALLOWED = "#1d548b"
PASS, FAIL, NOT_APPLICABLE = "#d3ecf7", "#f6c9a3", "#f2f2f2"


def mask(
    predicate: Predicate | Tensor,
    n_query: int,
    n_key: int | None = None,
    tokens: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
) -> None:
    """Draw who may look at whom: a row per query, a filled square where it may look.

    ``predicate`` comes from ``mhsa_lib.masks``, or is a boolean tensor (…, query, key), True =
    may look. Leading axes are drawn side by side, under ``titles`` or "sequence 0" …. Queries
    are the last positions of the keys. ``tokens`` name the keys, and with them the queries;
    without them positions do. Raises ``TypeError`` for another dtype and ``ValueError`` for
    sizes or numbers of names that do not fit.

    >>> from mhsa_lib import masks
    >>> mask(masks.causal & masks.key_padding([5, 3]), n_query=5)
    """
    n_key = n_query if n_key is None else n_key
    panels = _dense(predicate, n_query, n_key)
    if titles is None:
        titles = [f"sequence {i}" for i in range(len(panels))] if len(panels) > 1 else [""]
    _counted("titles", titles, len(panels))
    _counted("tokens", tokens, n_key)
    side = min(0.34, 6.4 / (len(panels) * (n_key + 2)))
    fig = style.figure(
        (n_key * side + 0.75) * len(panels) + 0.2,
        max(n_query * side, 0.4) + 1.15 + (style.text_width(tokens) - 0.35 if tokens else 0),
    )
    axs = fig.subplots(1, len(panels), squeeze=False)[0]
    for i, (ax, allowed, title) in enumerate(zip(axs, panels, titles, strict=True)):
        _squares(ax, allowed)
        if tokens is None:
            _number(ax, n_query, n_key, side)
        else:
            _word(ax, tokens, n_query, side, beside=i == 0)
        ax.set_xlabel("key", fontsize=style.TEXT)
        if i == 0:
            ax.set_ylabel("query", fontsize=style.TEXT)
        ax.set_title(title, fontsize=style.TEXT, parse_math=False)
    fig.legend(
        handles=[
            Patch(facecolor=ALLOWED, label="may look"),
            Patch(facecolor=style.PAPER, edgecolor=style.FAINT, label="may not"),
        ],
        loc="outside lower center",
        ncols=2,
        fontsize=style.TEXT,
        frameon=False,
    )


def comparison_table(
    results: Mapping[str, Mapping[str, float | str]],
    tolerance: float | Mapping[str, float] = 1e-5,
) -> None:
    """Draw which implementations agree in which cases, with the largest difference of each.

    ``results[implementation][case]`` is max |Δ|, or a word or two why the case does not apply:
    they stand below the matrix. ✓ marks a difference of at most ``tolerance`` (a number, or one
    per case), ✗ a larger one or NaN. Raises ``ValueError`` if the implementations have
    different cases.

    >>> comparison_table({"loops": {"causal": 0.0}, "GPT-2": {"causal": 3e-7}})
    """
    cases = _cases(results)
    limits = tolerance if isinstance(tolerance, Mapping) else dict.fromkeys(cases, tolerance)
    missing = [case for case in cases if case not in limits]
    if missing:
        raise ValueError(f"tolerance has no entry for {missing}; give one number per case.")
    reasons = _reasons(results)
    names = 0.072 * max(map(len, results)) + 0.2
    cell = min(0.8, (style.WIDTH - names - 0.2) / len(cases))
    flat = cell >= 0.52
    tall = 0.28 if flat else 0.6
    notes = ["max |Δ|;  ✓ within tolerance,  ✗ not,  – does not apply"]
    notes += [f"{letter}: {reason}" for reason, letter in reasons.items()]
    fig = style.figure(
        max(names + cell * len(cases) + 0.2, 4.4),
        tall * len(results) + 0.08 * max(map(len, cases)) + 0.16 * len(notes) + 0.45,
    )
    ax = fig.add_subplot(xlim=(0, len(cases)), ylim=(len(results), 0))
    for i, row in enumerate(results.values()):
        for j, case in enumerate(cases):
            _cell(ax, j, i, *_verdict(row[case], limits[case], reasons), 0 if flat else 90)
    ax.set_xticks([j + 0.5 for j in range(len(cases))], cases, rotation=90, parse_math=False)
    ax.set_yticks([i + 0.5 for i in range(len(results))], list(results), parse_math=False)
    ax.xaxis.tick_top()
    ax.tick_params(labelsize=style.TEXT, length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("\n".join(notes), fontsize=style.TEXT, parse_math=False)


def _dense(predicate: Predicate | Tensor, n_query: int, n_key: int) -> Tensor:
    """The mask as boolean panels (panel, query, key)."""
    checks.positive(n_query=n_query, n_key=n_key)
    if isinstance(predicate, Predicate):
        predicate = predicate.dense(n_query, n_key)
    checks.boolean(predicate)
    shape = tuple(predicate.shape)
    if shape[-2:] != (n_query, n_key):
        raise ValueError(
            f"mask {shape} is not (…, query, key) with n_query={n_query}, n_key={n_key}; "
            f"pass its own sizes."
        )
    panels = predicate.cpu().reshape(-1, n_query, n_key)
    if len(panels) > 8:
        raise ValueError(f"mask {shape} holds {len(panels)} pictures; choose up to 8 of them.")
    return panels


def _squares(ax: Any, allowed: Tensor) -> None:
    n_query, n_key = allowed.shape
    ax.set(xlim=(0, n_key), ylim=(n_query, 0), aspect="equal")
    for query, key in torch.cartesian_prod(torch.arange(n_query), torch.arange(n_key)).tolist():
        if allowed[query, key]:
            ax.add_patch(
                Rectangle((key + 0.08, query + 0.08), 0.84, 0.84, facecolor=ALLOWED, lw=0)
            )
    for spine in ax.spines.values():
        spine.set_edgecolor(style.FAINT)


def _number(ax: Any, n_query: int, n_key: int, side: float) -> None:
    every = max(1, round(0.26 / side))
    keys, queries = range(0, n_key, every), range(0, n_query, every)
    ax.set_xticks([k + 0.5 for k in keys], [str(k) for k in keys])
    ax.set_yticks([q + 0.5 for q in queries], [str(q + n_key - n_query) for q in queries])
    ax.tick_params(labelsize=style.TEXT, length=0)


def _word(ax: Any, tokens: Sequence[str], n_query: int, side: float, beside: bool) -> None:
    """Name every key below, and the queries ``beside`` the squares."""
    n_key = len(tokens)
    text: dict[str, Any] = {"fontsize": style.TEXT, "parse_math": False}
    places, names = style.labels(tokens, n_key * side)
    ax.set_xticks([k + 0.5 for k in places], names, rotation=90, **text)
    places, names = style.labels(tokens[n_key - n_query :], n_query * side)
    ax.set_yticks([q + 0.5 for q in places], names if beside else [""] * len(names), **text)
    ax.tick_params(length=0)


def _counted(what: str, names: Sequence[str] | None, wanted: int) -> None:
    if names is not None and len(names) != wanted:
        raise ValueError(f"{what} has {len(names)} entries for {wanted}; give one each.")


def _cases(results: Mapping[str, Mapping[str, float | str]]) -> list[str]:
    if not results or not any(results.values()):
        raise ValueError("there is nothing to compare; results is empty.")
    cases = list(next(iter(results.values())))
    for name, row in results.items():
        if list(row) != cases:
            raise ValueError(f"{name!r} has the cases {list(row)}, the first one {cases}.")
    return cases


def _reasons(results: Mapping[str, Mapping[str, float | str]]) -> dict[str, str]:
    """A letter for each reason, in order of appearance."""
    words = dict.fromkeys(
        v for row in results.values() for v in row.values() if isinstance(v, str)
    )
    return {word: chr(ord("a") + i) for i, word in enumerate(words)}


def _verdict(result: float | str, limit: float, reasons: Mapping[str, str]) -> tuple[str, str]:
    """Text and colour of a cell."""
    if isinstance(result, str):
        return f"– {reasons[result]}", NOT_APPLICABLE
    size = "0" if result == 0 else f"{result:.0e}"
    return (f"{size} ✓", PASS) if result <= limit else (f"{size} ✗", FAIL)


def _cell(ax: Any, x: int, y: int, text: str, colour: str, angle: int) -> None:
    ax.add_patch(Rectangle((x + 0.02, y + 0.04), 0.96, 0.92, facecolor=colour, lw=0))
    where: dict[str, Any] = {"ha": "center", "va": "center", "rotation": angle}
    ax.text(x + 0.5, y + 0.5, text, fontsize=9, color=style.INK, **where)
