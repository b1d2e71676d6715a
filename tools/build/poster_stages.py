"""The five stages on the poster, with the numbers of one head, followed to the sum at W_O.

Each panel draws itself on a sheet and returns how high it is, as those of ``poster_panels``.
"""

from mhsa_book import examples
from mhsa_book.examples.words import KINDS
from mhsa_book.widgets.sentence_lab.question_and_answer import MEANT, written
from tools.build.poster_panels import LAST, LEFT, ROW, WIDTH, WIRES, WORDS, head
from tools.build.poster_sheet import Sheet, numeral


def projected(sheet: Sheet) -> float:
    """q, k and v of one head."""
    y = head(sheet, "1 project, 2 split", "Three rows of every word, cut into heads")
    y = sheet.lines(
        y,
        "W_Q, W_K and W_V make q, k and v: what a word looks for, what it is found by, what it "
        "hands over. 12 numbers each, cut into three heads of 4. This is the head "
        f"“{examples.HEADS[MEANT]}”:",
        WIDTH,
    )
    wide = (WIDTH - LEFT - 28) / 12
    for i, name in enumerate("qkv"):
        here = sheet.at(LEFT + i * (4 * wide + 14), y + 20)
        here.write(2 * wide, -7, name, 13, text_anchor="middle", font_style="italic")
        if i == 0:
            here.words(WORDS, ROW, LAST)
        values, axis = WIRES[f"{name}_heads"][0, MEANT], "query" if name == "q" else "key"
        height = here.matrix(
            f"{name}_heads", values, f"0 {MEANT} ", (axis, "d_head"), (wide, ROW), LAST
        )
    return y + 20 + height


def scored(sheet: Sheet) -> float:
    """Scores, and how one is computed."""
    y = head(sheet, "3 attend", "Scores: how well does each word fit?")
    q, k = (WIRES[f"{name}_heads"][0, MEANT] for name in "qk")
    weights = WIRES["weights"][0, MEANT]
    found = int(weights[LAST].argmax())
    at = int((q[LAST] * k[found]).argmax())
    score = WIRES["scores"][0, MEANT, LAST, found]
    y = sheet.lines(
        y,
        f"score = q · k / √4. “{WORDS[LAST]}” with “{WORDS[found]}”: "
        f"{numeral(q[LAST, at])} · {numeral(k[found, at])} / 2 = {numeral(score)}.",
        WIDTH,
    )
    return _square(sheet, y, "scores", None)


def weighed(sheet: Sheet) -> float:
    """Weights, and z."""
    y = head(sheet, "3 attend", "Weights and z: how much of each word?")
    found = int(WIRES["weights"][0, MEANT, LAST].argmax())
    y = sheet.lines(
        y,
        "Softmax makes weights of the scores; each row sums to 1. z is the mean of v under "
        f"them: “{WORDS[LAST]}” receives v of “{WORDS[found]}”.",
        WIDTH,
    )
    bottom = _square(sheet, y, "weights", sheet.theme.heads[MEANT])
    wide = 26.0
    here = sheet.at(WIDTH - 4 * wide, y + 38)
    here.write(2 * wide, -7, "z", 13, text_anchor="middle", font_style="italic")
    z = WIRES["z"][0, MEANT]
    here.matrix("z", z, f"0 {MEANT} ", ("query", "d_head"), (wide, ROW), LAST)
    return bottom


def _square(sheet: Sheet, y: float, wire: str, fill: str | None) -> float:
    """Scores or weights of the head that is followed."""
    wide = 26.0
    here = sheet.at(LEFT, y + 38)
    for j, word in enumerate(WORDS):
        turn = f"translate({wide * (j + 0.4):g} -7) rotate(-40)"
        here.add("text", word, transform=turn, font_size=10)
    here.words(WORDS, ROW, LAST)
    values = WIRES[wire][0, MEANT]
    axes = ("query", "key")
    return y + 38 + here.matrix(wire, values, f"0 {MEANT} ", axes, (wide, ROW), LAST, fill)


def beside(sheet: Sheet) -> float:
    """concat, of the last word."""
    y = head(sheet, "4 concat", f"What the heads bring to “{WORDS[LAST]}”, side by side")
    n_heads, _, d_head = WIRES["z"][0].shape
    wide, row = WIDTH / (n_heads * d_head), WIRES["concat"][0, LAST].tolist()
    for c, value in enumerate(row):
        look = {"fill": sheet.theme.heads[c // d_head]}
        sheet.box(c * wide + 0.5, y + 18, wide - 1, 4, **look)
        sheet.number(wide * (c + 0.5), y + 36, value, f"concat 0 {LAST} {c}")
    for h, name in enumerate(examples.HEADS):
        sheet.write(h * d_head * wide, y + 13, name, 11)
    sheet.box(0, y + 18, WIDTH, 24, fill="none", stroke=sheet.theme.line)
    return y + 42


def added(sheet: Sheet) -> float:
    """W_O as a sum over heads, for the last word; and the sum with one head off."""
    y = head(sheet, "5 W_O", f"The new row of “{WORDS[LAST]}”, a sum over heads")
    parts = written(0)[:, LAST, : len(KINDS)]
    left, wide = 92.0, (WIDTH - 92) / len(KINDS)
    for j, name in enumerate(KINDS):
        turn = f"translate({left + wide * (j + 0.5):g} {y + 40:g}) rotate(-40)"
        sheet.add("text", name, transform=turn, font_size=10.5)
    y += 46
    without = parts[[h for h in range(len(parts)) if h != MEANT]].sum(dim=0)
    rows = [
        *((name, f"part {h}", parts[h]) for h, name in enumerate(examples.HEADS)),
        ("y, the sum", f"y 0 {LAST}", WIRES["y"][0, LAST, : len(KINDS)]),
        ("one head off", "without 0", without),
    ]
    for i, (name, place, values) in enumerate(rows):
        top, is_sum = y + 19 * i + 5 * (i >= 3) + 9 * (i >= 4), i >= 3
        colour = sheet.theme.heads[i] if i < 3 else sheet.theme.ink
        if i == 3:
            sheet.box(0, top, WIDTH, 19, fill=sheet.theme.lit)
        bold = "bold" if is_sum else "normal"
        sheet.write(4, top + 13, name, 11, fill=colour, font_weight=bold)
        for j, value in enumerate(values.tolist()):
            ink, x = colour if value > 0.05 else sheet.theme.quiet, left + wide * (j + 0.5)
            sheet.number(x, top + 13, value, f"{place} {j}", fill=ink, font_weight=bold)
    y += 19 * len(rows) + 20
    return sheet.lines(y, _learned(), WIDTH)


def _learned() -> str:
    """What the last word has learned, and what is forgotten with one head off."""
    found = [int(row.argmax()) for row in WIRES["weights"][0, :, LAST]]
    parts = written(0)[:, LAST, : len(KINDS)]
    told = [
        f"{' and '.join(n for n, v in zip(KINDS, part.tolist(), strict=True) if v > 0.5)} "
        f"(from “{WORDS[word]}”)"
        for part, word in zip(parts, found, strict=True)
    ]
    gone = [n for n, v in zip(KINDS, parts[MEANT].tolist(), strict=True) if v > 0.5]
    return (
        f"“{WORDS[LAST]}” now says {', '.join(told)}. Without the head "
        f"“{examples.HEADS[MEANT]}” {' and '.join(gone)} are gone: nobody tells "
        f"“{WORDS[LAST]}” what it belongs to."
    )
