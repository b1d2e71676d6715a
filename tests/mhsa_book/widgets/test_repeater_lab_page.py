"""What a reader can do to the trained model inside the page."""

import pytest
import torch

from mhsa_book.models import repeater
from mhsa_book.widgets import RepeaterLab
from tests.mhsa_book.widgets.conftest import allowed, milliseconds
from tests.mhsa_book.widgets.repeater_texts import TEXTS, words_of

MODEL = repeater.load()
ALPHABET = repeater.ALPHABET


def tokens(page):
    return page.locator(".mhsa-tokens button")


def shown(page):
    """What the bar table says: token -> (now, with all heads)."""
    rows = page.locator(".mhsa-next tbody tr").all()
    cells = [
        [row.locator("th").inner_text(), *row.locator("td").all_inner_texts()] for row in rows
    ]
    return {cell[0].split()[0]: (float(cell[2]), float(cell[3])) for cell in cells}


def text_of(page):
    return page.get_by_label("Text", exact=True)


def test_typing_shows_the_predictions_of_the_model(open_figure):
    page = open_figure(RepeaterLab())
    text_of(page).fill("Hello world hello w")
    after = MODEL.predict("hello world hello w")[-1]
    for sign, (now, before) in shown(page).items():
        expected = after[repeater.spell(torch.arange(38)).index(sign)].item()
        assert now == before == pytest.approx(expected, abs=0.006)
    assert next(iter(shown(page))) == "o"
    assert tokens(page).count() == 20
    guesses = repeater.spell(MODEL.predict("hello world hello w").argmax(dim=-1))
    found = [text[0] for text in page.locator(".mhsa-guess").all_inner_texts()]
    assert found == guesses


def test_switching_the_previous_token_head_off_breaks_the_prediction(open_figure):
    page = open_figure(RepeaterLab("abcxyzabcx"))
    assert shown(page)["y"][0] > 0.9
    page.get_by_label("L0H2", exact=True).uncheck()
    with repeater.without(MODEL, (0, 2)):
        broken = MODEL.predict("abcxyzabcx")[-1, ALPHABET.index("y")].item()
    now, before = shown(page)["y"]
    assert now == pytest.approx(broken, abs=0.006)
    assert before > 0.9 > 0.5 > now
    page.get_by_text("Without L0H2,").wait_for()
    page.get_by_role("button", name="All heads on").click()
    assert shown(page)["y"][0] > 0.9
    assert page.get_by_label("L0H2", exact=True).is_checked()


def test_the_space_bar_switches_a_head(open_figure):
    page = open_figure(RepeaterLab("abcxyzabcx"))
    page.get_by_label("L0H2", exact=True).focus()
    page.keyboard.press("Space")
    assert shown(page)["y"][0] < 0.5


def test_a_map_can_be_enlarged_and_its_row_chosen(open_figure):
    page = open_figure(RepeaterLab("abcabc"))
    page.get_by_role("button", name="Enlarge L0H2").click()
    assert page.locator(".mhsa-big .mhsa-title").inner_text().startswith("Layer 0, head 2")
    place = page.locator(".mhsa-big canvas").bounding_box()
    page.mouse.click(place["x"] + 5, place["y"] + place["height"] * 3.5 / 7)
    weights = MODEL.attend("abcabc")[1][0, 2, 3]
    assert tokens(page).nth(3).get_attribute("aria-pressed") == "true"
    said = f"L0H2 looks at b at 2 ({weights[2]:.2f})"
    page.wait_for_function(
        "words => document.querySelector('[role=status]').textContent.includes(words)", arg=said
    )


def test_arrow_keys_move_along_the_tokens(open_figure):
    page = open_figure(RepeaterLab("abcabc"))
    tokens(page).nth(6).focus()
    page.keyboard.press("ArrowLeft")
    assert "after token 5, b" in page.locator(".mhsa-next .mhsa-title").inner_text()
    page.keyboard.press("Home")
    assert "after token 0, the start" in page.locator(".mhsa-next .mhsa-title").inner_text()
    assert page.evaluate("document.activeElement.textContent").startswith("▷")


def test_random_letters_repeat(open_figure):
    page = open_figure(RepeaterLab())
    page.get_by_role("button", name="Random letters").click()
    typed = text_of(page).input_value()
    block = typed[: (len(typed) - 3) // 2]
    assert typed == block * 2 + block[:3]
    assert text_of(page).get_attribute("aria-invalid") == "false"


@pytest.mark.parametrize(
    "typed", [text for text in TEXTS if "ids" not in words_of(text) and text != "\n"]
)
def test_a_text_that_it_cannot_read_is_explained_and_changes_nothing(open_figure, typed):
    page = open_figure(RepeaterLab("abcabc"))
    before = shown(page)
    text_of(page).fill(typed)
    said = page.locator("[role=alert]").inner_text()
    assert said.lower() == words_of(typed)["problem"].lower()
    assert shown(page) == before
    assert text_of(page).get_attribute("aria-invalid") == "true"
    assert page.locator("img").count() == 0
    page.get_by_label("L0H0", exact=True).uncheck()
    assert text_of(page).input_value() == typed  # what was typed is not taken away
    text_of(page).fill("abcabc")
    assert page.locator("[role=alert]").inner_text() == ""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_it_fits_its_page(open_figure, width, theme):
    page = open_figure(RepeaterLab("m" * 63), width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_interaction_takes_less_than_50_ms(open_figure, report):
    page = open_figure(RepeaterLab("abcdefghi jklmnopqr" * 3))
    took = milliseconds(page, ".mhsa-tokens [tabindex='0']", "keydown", ("Home", "ArrowLeft"))
    off = page.evaluate(TOGGLE)
    report(f"repeater: {took:.1f} ms to choose a token, {off:.1f} ms to switch a head")
    assert max(took, off) < allowed(page, 50)


TOGGLE = """async () => {
  const boxes = [...document.querySelectorAll(".mhsa-card input")];
  const times = [];
  for (const box of boxes) {
    const start = performance.now();
    box.click();
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  return times.sort((a, b) => a - b)[4];
}"""
