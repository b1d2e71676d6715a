"""What the poster asks and explains; its stages are in ``poster_stages``.

Each panel draws itself on a sheet, 370 units wide, and returns how high it is.
"""

from mhsa_book import examples
from mhsa_lib.shapes import AXIS_COLOURS
from tools.build.links import site
from tools.build.poster_sheet import Sheet

WIDTH = 370.0
WORDS = examples.SENTENCES[0]
LAST = len(WORDS) - 1
LEFT = 58.0
"""Room for the words at the left of a matrix."""
ROW = 17.0
WIRES = examples.running()
JOBS = (
    "A noun looks at itself, a quality at something living or at a place, the others at the "
    "first word, whose v is 0.",
    "Every word looks at the word before it, the first at itself.",
    "Words look at the verb, the verb at who did it.",
)
DASHES = ("none", "7 4", "1 5")


def question(sheet: Sheet) -> float:
    """The sentence twice, with the lines of every head."""
    y = head(sheet, "", f"What is “{WORDS[LAST]}”: the animal, or the street?")
    y = sheet.lines(
        y,
        f"A model has a row of numbers for each word. The row of “{WORDS[LAST]}” says what the "
        "word means, not what it belongs to here. So it asks: three heads look at the other "
        "words, each in its own way, and hand over what they find.",
        WIDTH,
    )
    for s in range(len(examples.SENTENCES)):
        y += 90
        _lines(sheet.at(0, y), s)
        y += 22
    first, other = (examples.SENTENCES[s][LAST] for s in range(2))
    return sheet.lines(
        y,
        f"With “{other}” instead of “{first}” one head looks elsewhere, at the street. Now "
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
        high = -20 - 23 * rank
        curve = f"M{start:g} -2C{start:g} {high * 4 / 3:g} {end:g} {high * 4 / 3:g} {end:g} -5"
        dash = {"stroke_dasharray": DASHES[h], "stroke_linecap": "round"}
        sheet.add("path", d=curve, fill="none", stroke=colour, stroke_width=2.5, **dash)
        sheet.add("path", d=f"M{end - 4:g} -7h8l-4 7z", fill=colour)
        halo = {"stroke": sheet.theme.paper, "stroke_width": 4, "paint_order": "stroke"}
        middle = min((start + end) / 2, WIDTH - 40)
        name = examples.HEADS[h]
        sheet.write(middle, high - 4, name, 10.5, text_anchor="middle", **halo)


def embedded(sheet: Sheet) -> float:
    """x, with the names of its columns."""
    y = head(sheet, "", "x: every word is a row of 12 numbers")
    y = sheet.lines(
        y,
        f"Seven say what the word is, five where it stands: the first, and two clocks. "
        f"“{WORDS[LAST]}” is a quality of something living; its row does not say of what.",
        WIDTH,
    )
    wide = (WIDTH - LEFT) / len(examples.COLUMNS)
    for j, name in enumerate(examples.COLUMNS):
        turn = f"translate({LEFT + wide * (j + 0.6):g} {y + 48:g}) rotate(-60)"
        sheet.add("text", name, transform=turn, font_size=10)
    values = examples.sentences()[0]
    matrix = sheet.at(LEFT, y + 56)
    matrix.words(WORDS, ROW, LAST)
    height = matrix.matrix("x", values, "0 ", ("query", "d_model"), (wide, ROW), LAST)
    return y + 56 + height


def jobs(sheet: Sheet) -> float:
    """The maps of all heads, and what each does."""
    y = head(sheet, "", "Three heads do three things")
    side, apart, bottom = 13.0, WIDTH / 3, 0.0
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
        bottom = max(bottom, here.lines(118, job, apart - 10, 11))
    return y + bottom + 6


def legend(sheet: Sheet) -> float:
    """What the colours at the edge of a matrix mean."""
    _, n, d_head = WIRES["z"][0].shape
    y = head(sheet, "", "A colour for each axis")
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
    return sheet.lines(y, "0 is exactly 0; 0.00 is less than 0.005.", WIDTH, 11)


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


def head(sheet: Sheet, stage: str, said: str) -> float:
    """The heading of a panel: the name of its stage, and what happens there."""
    if stage:
        sheet.write(0, 13, stage, 13, font_weight="bold", fill=sheet.theme.accent)
    return sheet.lines(17 if stage else 0, said, WIDTH, 14, font_weight="bold") + 2
