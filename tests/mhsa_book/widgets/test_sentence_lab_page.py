"""A reader flips the last word, lets other words ask, and switches heads off."""

import pytest
from playwright.sync_api import expect

from mhsa_book import examples
from mhsa_book.widgets import SentenceLab
from mhsa_book.widgets.sentence_lab.question_and_answer import written
from tests.mhsa_book.widgets.conftest import said, table
from tests.mhsa_book.widgets.plain_model import mount_again
from tests.mhsa_book.widgets.test_on_a_phone import PHONE
from tests.mhsa_book.widgets.test_sentence_lab import STATES

POINTED = """(h) => {
  const arc = document.querySelector(`.mhsa-arcs .mhsa-head-${h} > path`);
  if (arc.getAttribute("display") === "none") return null;
  const [x] = arc.getAttribute("d").match(/[-.\\d]+ [-.\\d]+$/)[0].split(" ").map(Number);
  const { left } = document.querySelector(".mhsa-line").getBoundingClientRect();
  const words = [...document.querySelectorAll(".mhsa-word, .mhsa-last:has(:checked)")];
  const on = (one) => {
    const box = one.getBoundingClientRect();
    return box.left <= left + x && left + x <= box.right;
  };
  return words.find(on).textContent;
}"""
ALL = 5  # the last step: everything is there
HEIGHT = "document.querySelector('.mhsa-figure').getBoundingClientRect().height"


def learned(page):
    caption = page.locator("caption").text_content()
    return {name: float(row[1]) for name, row in table(page, caption).items()}


@pytest.mark.parametrize("width", [PHONE, 1000])
def test_flipping_the_last_word_moves_the_line_from_animal_to_street(open_figure, width):
    page = open_figure(SentenceLab(step=ALL), width=width)
    assert said(page, "belongs to") == "“tired” belongs to something living: “animal”."
    assert [page.evaluate(POINTED, h) for h in range(3)] == ["animal", "too", "avoided"]
    page.get_by_role("radio", name="wide").check()
    assert said(page, "wide") == "“wide” belongs to a place: “street”."
    assert [page.evaluate(POINTED, h) for h in range(3)] == ["street", "too", "avoided"]
    expect(page.get_by_text("What does “wide” belong to?")).to_be_visible()
    assert page.locator(".mhsa-found").all_text_contents() == ["street"]


def test_a_head_that_is_off_takes_its_finding_along(open_figure):
    page = open_figure(SentenceLab(step=ALL))
    before = learned(page)
    page.get_by_role("checkbox", name="who is meant").uncheck()
    said(page, "Nobody tells “tired” what it belongs to.")
    after = learned(page)
    assert [name for name in before if before[name] != after[name]] == ["noun", "living"]
    assert [page.evaluate(POINTED, h) for h in range(3)] == [None, "too", "avoided"]
    page.get_by_role("checkbox", name="who is meant").press("Space")
    said(page, "“animal”")
    assert learned(page) == before


def test_every_state_shows_the_numbers_of_python(open_figure):
    page = open_figure(SentenceLab(step=ALL))
    mount_again(page, SentenceLab(step=ALL))
    ys = [written(s) for s in range(2)]
    for sentence, word, off in STATES:
        page.evaluate(
            "state => Object.entries(state).forEach(([k, v]) => model.set(k, v))",
            {"sentence": sentence, "word": word, "off": off},
        )
        on = [h for h in range(3) if h not in off]
        y = dict(zip(examples.COLUMNS, ys[sentence][on].sum(dim=0)[word], strict=True))
        for name, value in learned(page).items():
            assert value == pytest.approx(float(y[name]), abs=0.006)
    assert page.evaluate("saved") == 0  # what comes from Python is not sent back


def test_by_keyboard_every_word_asks_and_the_switch_flips(open_figure):
    page = open_figure(SentenceLab(step=ALL))
    for _ in range(4):  # past the steps, back and on
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="the", exact=True).first).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="animal")).to_be_focused()
    expect(page.get_by_role("button", name="animal")).to_have_attribute("aria-pressed", "true")
    said(page, "“animal” finds itself: something living.")
    page.keyboard.press("End")
    expect(page.get_by_role("button", name="too")).to_be_focused()
    page.keyboard.press("ArrowRight")  # and beyond lies the switch
    expect(page.get_by_role("radio", name="tired")).to_be_focused()
    said(page, "“tired” belongs")
    page.keyboard.press("ArrowRight")
    said(page, "“wide” belongs to a place: “street”.")
    page.keyboard.press("Tab")
    expect(page.get_by_role("checkbox", name="who is meant")).to_be_focused()


def test_python_and_the_page_talk_both_ways(open_figure):
    page = open_figure(SentenceLab(step=ALL))
    mount_again(page, SentenceLab(step=ALL))
    page.evaluate("model.set('word', 2)")
    said(page, "“avoided” learns who did it: “animal”.")
    page.get_by_role("radio", name="wide").check()
    page.get_by_role("checkbox", name="previous word").uncheck()
    state = page.evaluate("['sentence', 'word', 'off'].map(model.get)")
    assert state == [1, 6, [1]]
    assert page.evaluate("saved") >= 2


@pytest.mark.parametrize("width", [PHONE, 760])
def test_nothing_jumps_and_nothing_is_too_small_to_touch(open_figure, width):
    page = open_figure(SentenceLab(step=ALL), width=width, has_touch=True)
    heights = {page.evaluate(HEIGHT)}
    for target in page.locator(".mhsa-word, .mhsa-last, .mhsa-check").all():
        box = target.bounding_box()
        assert min(box["width"], box["height"]) >= 32
        target.tap()
        page.wait_for_timeout(300)  # until it is said
        heights.add(page.evaluate(HEIGHT))
    assert len(heights) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_lines_keep_to_their_words_when_the_room_changes(open_figure):
    page = open_figure(SentenceLab(step=ALL), width=1000)
    page.set_viewport_size({"width": PHONE, "height": 900})
    page.wait_for_function(f"({POINTED})(0) === 'animal'")
    assert [page.evaluate(POINTED, h) for h in range(3)] == ["animal", "too", "avoided"]


def test_on_the_narrowest_phone_no_word_covers_another(open_figure):
    page = open_figure(SentenceLab(step=ALL), width=270)  # of a phone of 320 pixels
    boxes = [word.bounding_box() for word in page.locator(".mhsa-word, .mhsa-lasts").all()]
    ends = [box["x"] + box["width"] for box in boxes]
    assert all(end <= box["x"] + 1 for end, box in zip(ends, boxes[1:], strict=False))
    fits = "e => e.scrollWidth <= e.clientWidth"
    assert page.locator(".mhsa-word").evaluate_all(f"all => all.every({fits})")
    assert page.evaluate("document.documentElement.scrollWidth") <= 270
