"""Draw the whole pass on one sheet: A3 and a phone's width, for the day and for the night.

python -m tools.build.poster

Jupyter Book copies the contents of ``vendor`` beside the pages; the sheets lie in
vendor/vendor/poster. Every number on them is taken from the trace of the running example.
"""

from pathlib import Path

from tools.build import poster_panels as panels
from tools.build import poster_stages as stages
from tools.build.poster_sheet import DARK, LIGHT, Sheet, Theme
from tools.build.vendor import VENDOR

FOLDER = VENDOR / "poster"
TITLE = "Multi-head attention: the whole pass on one sheet"
ABOUT = (
    "One sentence goes through the five stages of multi-head attention: project, split, "
    "attend, concat, W_O. The numbers of one head are followed to the sum at W_O."
)
THEMES = {"": LIGHT, "-dark": DARK}
COLUMNS = (
    (panels.question, panels.embedded, panels.legend),
    (stages.projected, stages.scored, stages.weighed),
    (panels.jobs, stages.beside, stages.added, panels.free),
)
"""The panels of an A3 sheet, column by column; a phone has them below each other."""


def a3(theme: Theme) -> str:
    """Three columns below a title, 420 by 297 mm."""
    width, gap = 1268.0, 46.0
    sheet = Sheet(width, theme, TITLE, ABOUT)
    sheet.write(33, 56, TITLE, 30, font_weight="bold")
    for i, column in enumerate(COLUMNS):
        y = 84.0
        for panel in column:
            y += panel(sheet.at(33 + i * (panels.WIDTH + gap), y)) + 17
        assert y <= 897, f"column {i} ends at {y:.0f}"
    return sheet.svg(width * 297 / 420, ("420mm", "297mm"))


def phone(theme: Theme) -> str:
    """All panels below each other, 390 units wide."""
    sheet = Sheet(390, theme, TITLE, ABOUT)
    y = sheet.at(10, 10).lines(0, TITLE, panels.WIDTH, 20, font_weight="bold") + 26
    for panel in (panel for column in COLUMNS for panel in column):
        y += panel(sheet.at(10, y)) + 26
    return sheet.svg(y, ("390", f"{y:.0f}"))


def write(folder: Path = FOLDER) -> dict[str, int]:
    """Write the four sheets; their names and sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {}
    for name, draw in (("a3", a3), ("phone", phone)):
        for suffix, theme in THEMES.items():
            file = folder / f"attention-{name}{suffix}.svg"
            file.write_text(draw(theme), encoding="utf-8")
            sizes[file.name] = file.stat().st_size
    return sizes


if __name__ == "__main__":
    for name, size in write().items():
        print(f"{name}: {size / 1e3:.0f} kB")
