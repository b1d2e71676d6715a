"""What SmolLM2-135M does in each of 512 cases: a second implementation of ``cases.js``.

``python -m tools.build.nine_heads`` has computed and stored them.
"""

import base64
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("cases.json")


@cache
def stored() -> dict[str, Any]:
    """What the file says, its numbers still packed."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def packed(name: str) -> bytes:
    """The bytes of ``chances``, ``rows`` or ``maps``, as they travel to a page."""
    return base64.b64decode(stored()[name])


def chances(off: Sequence[int] = ()) -> np.ndarray:
    """The probability of each word that has a bar, then of all others together.

    >>> [f"{p:.2f}" for p in chances()[:2]]
    ['0.92', '0.00']
    """
    of_all = np.frombuffer(packed("chances"), "<u2").reshape(-1, len(stored()["words"]))
    shown = of_all[sum(1 << k for k in set(off))] / 65535
    return np.append(shown, 1 - shown.sum())


def before(k: int) -> list[int]:
    """The heads in lower layers than head k: only they can change where it attends.

    >>> before(2)
    [4, 5]
    """
    heads = stored()["heads"]
    return [j for j, (layer, _) in enumerate(heads) if layer < heads[k][0]]


def weights(k: int, off: Sequence[int] = (), query: int | None = None) -> np.ndarray:
    """Where a word, by default the last, attends in head k, (key,).

    With heads off only the last word is known; another one is told with every head on.
    """
    n = len(stored()["tokens"])
    query = n - 1 if query is None else query
    if query < n - 1:
        start = k * n * (n + 1) // 2 + query * (query + 1) // 2
        return np.frombuffer(packed("maps"), "u1")[start : start + query + 1] / 255
    earlier = before(k)
    pattern = sum(1 << i for i, j in enumerate(earlier) if j in off)
    first = sum(2 ** len(before(j)) for j in range(k))
    return np.frombuffer(packed("rows"), "u1").reshape(-1, n)[first + pattern] / 255
