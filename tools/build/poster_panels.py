"""What stands on the poster: the question, the stages with their numbers, what is forgotten.

Each panel draws itself on a sheet, 370 units wide, and returns how high it is.
"""

from mhsa_lib import examples
from mhsa_lib.examples.words import KINDS
from mhsa_lib.shapes import AXIS_COLOURS
from mhsa_lib.widgets.sentence_lab.found import MEANT, written
from tools.build.links import site
from tools.build.poster_sheet import Sheet, numeral

WIDTH = 370.0
WORDS = examples.SENTENCES[0]
LAST = len(WORDS) - 1
LEFT = 58.0
"""Room for the words at the left of a matrix."""
ROW = 17.0
WIRES, W_O = examples.running(), examples.attention().W_O
JOBS = (
    "A quality looks for something living, or for a place.",
    "Every word looks at the word before it.",
    "Words look at the verb, the verb at who did it.",
)
DASHES = ("none", "7 4", "1 5")


def question(sheet: Sheet) -> float:
    """The sentence twice, with the lines of every head."""
    y = _head(sheet, "", f"What is “{WORDS[LAST]}”: the animal, or the street?")
    y = sheet.lines(
        y,
        f"A model has a row of numbers for each word. The row of “{WORDS[LAST]}” says what the "
        "word means, not what it belongs to here. So it asks: three heads look at the other "
        "words, each in its own way, and hand over what they find.",
        WIDTH,
    )
    for s in range(len(examples.SENTENCES)):
        y += 82
        _lines(sheet.at(0, y), s)
        y += 22
    first, other = (examples.SENTENCES[s][LAST] for s in range(2))
    return sheet.lines(
        y,
        f"With “{other}” instead of “{first}” one head looks elsewhere, at the street. Below, "
        f"follow “{first}” through the five stages.",
        WIDTH,
    )


def _lines(sheet: Sheet, sentence: int) -> None:
    """A sentence at y = 0, and above it the lines from its last word."""
    words, step = examples.SENTENCES[sentence], WIDTH / len(WORDS)
    rows = WIRES["weights"][sentence, :, LAST]
    order = sorted(range(len(rows)), key=lambda h: -int(rows[h].argmax()))
    for i, word in enumerate(words):
        bold = "bold" if i == LAST else "normal"
        sheet.write(step * (i + 0.5), 12, word, 12, text_anchor="middle", font_weight=bold)
    for rank, h in enumerate(order):
        key, colour = int(rows[h].argmax()), sheet.theme.heads[h]
        start, end = step * (LAST + 0.5) + 5 * (rank - 1), step * (key + 0.5)
        high = -14 - 22 * rank
        curve = f"M{start:g} -2C{start:g} {high * 4 / 3:g} {end:g} {high * 4 / 3:g} {end:g} -5"
        dash = {"stroke_dasharray": DASHES[h], "stroke_linecap": "round"}
        sheet.add("path", d=curve, fill="none", stroke=colour, stroke_width=2.5, **dash)
        sheet.add("path", d=f"M{end - 4:g} -7h8l-4 7z", fill=colour)
        halo = {"stroke": sheet.theme.paper, "stroke_width": 4, "paint_order": "stroke"}
        middle = min((start + end) / 2, WIDTH - 40)
        name = examples.HEADS[h]
        sheet.write(middle, high + 1, name, 10.5, text_anchor="middle", **halo)


def embedded(sheet: Sheet) -> float:
    """x, with the names of its columns."""
    y = _head(sheet, "", "x: every word is a row of 12 numbers")
    y = sheet.lines(y, "Eight say what the word is, four where it stands (a clock).", WIDTH)
    wide = (WIDTH - LEFT) / len(examples.COLUMNS)
    for j, name in enumerate(examples.COLUMNS):
        turn = f"translate({LEFT + wide * (j + 0.6):g} {y + 48:g}) rotate(-60)"
        sheet.add("text", name, transform=turn, font_size=10)
    values = examples.sentences()[0]
    matrix = sheet.at(LEFT, y + 56)
    matrix.words(WORDS, ROW, LAST)
    height = matrix.matrix("x", values, "0 ", ("query", "d_model"), (wide, ROW), LAST)
    return y + 56 + height


def projected(sheet: Sheet) -> float:
    """q, k and v of one head."""
    y = _head(sheet, "1 project, 2 split", "Three rows of every word, cut into heads")
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
    y = _head(sheet, "3 attend", "Scores: how well does each word fit?")
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
    y = _head(sheet, "3 attend", "Weights and z: how much of each word?")
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


def jobs(sheet: Sheet) -> float:
    """The maps of all heads, and what each does."""
    y = _head(sheet, "", "Three heads do three things")
    side, apart = 13.0, WIDTH / 3
    for h, (name, job) in enumerate(zip(examples.HEADS, JOBS, strict=True)):
        here = sheet.at(h * apart, y)
        here.write(0, 12, name, 12, font_weight="bold", fill=sheet.theme.heads[h])
        here.box(0, 20, 7 * side, 7 * side, fill="none", stroke=sheet.theme.line)
        for i, row in enumerate(WIRES["weights"][0, h].tolist()):
            for j, weight in enumerate(row):
                if weight >= 0.01:
                    look = {"fill": sheet.theme.heads[h], "fill_opacity": round(weight, 3)}
                    here.box(j * side, 20 + i * side, side, side, **look)
        here.box(0, 20 + LAST * side, 7 * side, side, fill="none", stroke=sheet.theme.ink)
        bottom = here.lines(118, job, apart - 10, 11)
    return y + bottom + 6


def beside(sheet: Sheet) -> float:
    """concat, of the last word."""
    y = _head(sheet, "4 concat", f"What the heads bring to “{WORDS[LAST]}”, side by side")
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
    """W_O as a sum over heads, for the last word; and the sum with a head less."""
    y = _head(sheet, "5 W_O", f"The new row of “{WORDS[LAST]}”, a sum over heads")
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
        ("a head less", "without 0", without),
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
    """What the last word has learned, and what is forgotten with a head less."""
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


def legend(sheet: Sheet) -> float:
    """What the colours at the edge of a matrix mean."""
    _, n, d_head = WIRES["z"][0].shape
    y = _head(sheet, "", "A colour for each axis")
    axes = {
        "query": f"{n} words that look",
        "key": f"{n} words that are looked at",
        "d_model": f"{len(examples.COLUMNS)} numbers of a word",
        "d_head": f"{d_head} numbers of a word in one head",
    }
    for axis, said in axes.items():
        sheet.box(0, y + 2, 12, 12, fill=AXIS_COLOURS[axis], stroke=sheet.theme.line)
        sheet.write(18, y + 12, f"{axis}: {said}", 11)
        y += 18
    return y


def free(sheet: Sheet) -> float:
    """The formula, and who may use this: everybody."""
    y = sheet.lines(0, "weights = softmax(q kᵀ / √d_head), z = weights v", WIDTH, 12)
    about = (
        "Nothing here is trained: the heads are set by hand, so that every number has a name. "
        "All numbers were computed by mhsa_lib when this sheet was made."
    )
    y = sheet.lines(y + 4, about, WIDTH, 10.5, fill=sheet.theme.quiet)
    licence = f"CC BY 4.0, The mhsa authors: copy it, change it, name us. {site()}"
    return sheet.lines(y + 2, licence, WIDTH, 10.5, font_weight="bold")


def _head(sheet: Sheet, stage: str, said: str) -> float:
    """The heading of a panel: the name of its stage, and what happens there."""
    if stage:
        sheet.write(0, 13, stage, 13, font_weight="bold", fill=sheet.theme.accent)
    return sheet.lines(17 if stage else 0, said, WIDTH, 14, font_weight="bold") + 2
