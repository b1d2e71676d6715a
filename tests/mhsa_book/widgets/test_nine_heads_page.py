"""A reader meets the first figure: it opens on the answer, and can be taken apart."""

import pytest
from playwright.sync_api import expect

from mhsa_book.widgets import NineHeads, SentenceLab
from mhsa_book.widgets.nine_heads.cases import chances, stored, weights
from mhsa_book.widgets.nine_heads.words import WALKS, attends, outcome, percent
from tests.mhsa_book.widgets.plain_model import mount_again
from tests.mhsa_book.widgets.test_on_a_phone import PHONE

NAMES = [f"L{layer}H{head}" for layer, head in stored()["heads"]]
LAST, L24H4 = 13, NAMES.index("L24H4")
WIDTHS = """() => [...document.querySelectorAll(".mhsa-sentence .mhsa-arc")].map((arc) =>
  arc.closest("g").getAttribute("display") === "none" ? 0
    : parseFloat(arc.style.strokeWidth))"""
ENDS = """() => {
  const words = [...document.querySelectorAll(".mhsa-word")];
  const box = document.querySelector(".mhsa-sentence").getBoundingClientRect();
  const at = (x, y) => words.findIndex((word) => {
    const { left, right, top, bottom } = word.getBoundingClientRect();
    const [px, py] = [x + box.left, y + box.top];
    return left <= px && px <= right && top - 1 <= py && py <= bottom + 1;
  });
  return [...document.querySelectorAll(".mhsa-sentence .mhsa-arc")].map((arc) => {
    const all = arc.getAttribute("d").match(/[-.\\d]+/g).map(Number);
    return [at(...all.slice(0, 2)), at(...all.slice(-2))];
  });
}"""
HEIGHT = "Math.round(document.querySelector('.mhsa-figure').getBoundingClientRect().height)"
ALONG = """e => {
  const at = e.getPointAtLength(0.8 * e.getTotalLength()), screen = e.getScreenCTM();
  return [at.x + screen.e, at.y + screen.f];
}"""
"""A point of an arc, nearer to the word that is attended to."""


def numbers(page):
    return page.locator(".mhsa-bar .mhsa-number").all_text_contents()


def look(page, k):
    return page.locator(".mhsa-look").nth(k)


def power(page, k):
    return page.get_by_role("button", name=f"{NAMES[k]} on")


def pressed(locator):
    return locator.get_attribute("aria-pressed") == "true"


def said(page, text):
    expect(page.locator(".mhsa-told .mhsa-said")).to_contain_text(text)


def away(page):
    page.mouse.move(1, 1)


@pytest.mark.parametrize("width", [PHONE, 700, 1000])
def test_it_opens_on_the_answer(open_figure, width):
    page = open_figure(NineHeads(), width=width)
    assert numbers(page) == [percent(p) for p in chances()]
    expect(page.locator(".mhsa-slot")).to_have_text("Mary")
    expect(page.locator(".mhsa-looked")).to_contain_text(attends(0, [], LAST))
    said(page, outcome([]))
    row = weights(0)
    drawn = page.evaluate(WIDTHS)
    assert [w > 0 for w in drawn] == [w >= 0.01 for w in row]
    assert [w - 0.8 for w in drawn if w] == pytest.approx(
        [11 * w for w in row if w >= 0.01], abs=0.01
    )
    assert page.evaluate(ENDS) == [[LAST, key] for key in range(LAST + 1)]


@pytest.mark.parametrize(("label", "off", "seen"), WALKS)
def test_a_button_swings_the_bars_and_says_why(open_figure, label, off, seen):
    page = open_figure(NineHeads(off=[4]))
    page.get_by_role("button", name=label, exact=True).click()
    said(page, f"{outcome(off)} {seen}")
    assert numbers(page) == [percent(p) for p in chances(off)]
    names = stored()["words"]
    expect(page.locator(".mhsa-slot")).to_have_text(names[int(chances(off)[:2].argmax())])
    assert [pressed(power(page, k)) for k in range(9)] == [k not in off for k in range(9)]
    guide = page.locator(".mhsa-guide button")
    assert [pressed(one) for one in guide.all()] == [one == label for one, *_ in WALKS]


def test_every_switch_is_one_of_its_own(open_figure):
    page = open_figure(NineHeads())
    for k in range(9):
        power(page, k).click()
        away(page)
        said(page, outcome([k]))
        assert numbers(page) == [percent(p) for p in chances([k])]
        assert pressed(look(page, k))  # what is switched is also shown
        expect(page.locator(".mhsa-looked")).to_contain_text("on again: Mary")
        power(page, k).click()
        away(page)
        said(page, outcome([]))


def test_a_head_that_others_tell_where_to_look_is_redrawn(open_figure):
    page = open_figure(NineHeads(head=L24H4))
    expect(look(page, L24H4)).to_have_text("L24H4→ Mary")
    page.get_by_role("button", name="four").click()
    away(page)
    expect(look(page, L24H4)).to_have_text("L24H4→ John")
    expect(page.locator(".mhsa-looked")).to_contain_text(attends(L24H4, [0, 1, 2, 3], LAST))
    row = weights(L24H4, [0, 1, 2, 3])
    assert page.evaluate(WIDTHS)[9] == pytest.approx(0.8 + 11 * row[9], abs=0.01)


def test_pointing_at_a_head_shows_its_arcs_and_what_its_switch_would_do(open_figure):
    page = open_figure(NineHeads())
    look(page, L24H4).hover()
    expect(page.locator(".mhsa-looked")).to_contain_text(attends(L24H4, [], LAST))
    with_off = chances([L24H4])
    expect(page.locator(".mhsa-looked")).to_contain_text(
        f"Without L24H4: Mary {percent(with_off[0])}, John {percent(with_off[1])}."
    )
    ghost = page.locator(".mhsa-ghost").first
    expect(ghost).to_be_visible()
    assert float(ghost.evaluate("e => parseFloat(e.style.left)")) == pytest.approx(
        100 * with_off[0], abs=0.01
    )
    away(page)
    expect(page.locator(".mhsa-looked")).to_contain_text(attends(0, [], LAST))
    expect(ghost).to_be_hidden()
    assert numbers(page)[0] == percent(chances()[0])  # nothing was switched


@pytest.mark.parametrize("way", ["hover", "press", "key"])
def test_a_bar_tells_what_each_head_would_do_to_it(open_figure, way):
    page = open_figure(NineHeads(off=[0]))
    bar = page.locator(".mhsa-bar").nth(1)
    {"hover": bar.hover, "press": bar.click, "key": lambda: bar.press("Enter")}[way]()
    if way != "hover":
        away(page)
        assert pressed(bar)
    told = page.locator(".mhsa-tile .mhsa-says").all_text_contents()
    for k, text in enumerate(told):
        change = chances([j for j in {0} ^ {k}])[1] - chances([0])[1]
        assert float(text.replace("−", "-")) == pytest.approx(100 * change, abs=0.51), k
    expect(page.locator(".mhsa-looked")).to_contain_text("percentage points its switch moves")
    assert page.locator(".mhsa-word.mhsa-lit").all_inner_texts()[0].startswith("John")


def test_pointing_at_a_word_or_an_arc_tells_its_weight(open_figure):
    page = open_figure(NineHeads())
    page.locator(".mhsa-word").nth(1).hover()
    weight = percent(weights(0)[1])
    expect(page.locator(".mhsa-looked")).to_have_text(
        f"In head L23H3, “to” gives “Mary” {weight} of its weight."
    )
    away(page)
    page.mouse.move(*page.locator(".mhsa-touch").nth(9).evaluate(ALONG))
    expect(page.locator(".mhsa-looked")).to_contain_text("“to” gives “John” 74")


def test_another_word_asks(open_figure):
    page = open_figure(NineHeads(head=NAMES.index("L17H4")))
    page.locator(".mhsa-word").nth(9).click()
    away(page)
    expect(page.locator(".mhsa-looked")).to_contain_text(attends(4, [], 9))
    assert page.evaluate(ENDS)[:10] == [[9, key] for key in range(10)]
    assert page.evaluate(WIDTHS)[10:] == [0] * 4
    page.locator(".mhsa-word").nth(11).hover()
    expect(page.locator(".mhsa-looked")).to_contain_text("“a” comes later than “John”")
    page.get_by_role("button", name="four").click()  # and the last one asks again
    away(page)
    expect(page.locator(".mhsa-looked")).to_contain_text(attends(4, [0, 1, 2, 3], LAST))


def test_by_keyboard_alone(open_figure):
    page = open_figure(NineHeads())
    page.locator(".mhsa-bar").last.focus()
    page.keyboard.press("Tab")
    expect(look(page, 0)).to_be_focused()
    before = page.evaluate("scrollY")
    page.keyboard.press("ArrowRight")
    expect(power(page, 0)).to_be_focused()
    page.keyboard.press("Space")
    said(page, outcome([0]))
    expect(power(page, 0)).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(look(page, L24H4)).to_be_focused()
    expect(page.locator(".mhsa-looked")).to_contain_text(attends(L24H4, [0], LAST))
    assert page.evaluate("scrollY") == before
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.mhsa-nine') === null")


@pytest.mark.parametrize("region", [".mhsa-looked", ".mhsa-told .mhsa-said", ".mhsa-slot"])
def test_what_changes_is_spoken_and_named(open_figure, region):
    page = open_figure(NineHeads())
    if region == ".mhsa-slot":
        expect(page.get_by_role("group", name="The sentence")).to_contain_text("Mary")
    else:
        expect(page.locator(region)).to_have_role("status")


def test_by_finger(open_figure):
    page = open_figure(NineHeads(), width=PHONE, has_touch=True)
    power(page, 0).tap()
    said(page, outcome([0]))
    look(page, L24H4).tap()
    expect(page.locator(".mhsa-looked")).to_contain_text(attends(L24H4, [0], LAST))
    expect(page.locator(".mhsa-ghost").first).to_be_hidden()
    page.touchscreen.tap(*page.locator(".mhsa-touch").nth(1).evaluate(ALONG))
    expect(page.locator(".mhsa-looked")).to_contain_text("“to” gives “Mary”")
    page.locator(".mhsa-bar").first.tap()
    expect(page.locator(".mhsa-looked")).to_contain_text("percentage points")
    page.locator(".mhsa-bar").first.tap()
    expect(page.locator(".mhsa-looked")).to_contain_text(attends(L24H4, [0], LAST))


@pytest.mark.parametrize(("width", "most"), [(PHONE, 350), (1000, 230)])
def test_switches_and_bars_are_in_one_view(open_figure, width, most):
    page = open_figure(NineHeads(), width=width)
    boxes = [page.locator(part).bounding_box() for part in (".mhsa-next", ".mhsa-nine")]
    top = min(box["y"] for box in boxes)
    bottom = max(box["y"] + box["height"] for box in boxes)
    assert bottom - top <= most
    whole = page.locator(".mhsa-sentence").bounding_box()["y"]
    assert bottom - whole <= 760  # with the sentence above them, on a phone too


SLOW = [pytest.param(width, marks=pytest.mark.slow) for width in (PHONE, 700, 1000)]


@pytest.mark.parametrize("width", [270, *SLOW])
def test_nothing_jumps_and_nothing_is_cut(open_figure, width):
    page = open_figure(NineHeads(), width=width)
    heights = {page.evaluate(HEIGHT)}
    for off in ([], [0], [0, 1, 2, 3], [6, 7, 8], list(range(9))):
        mount_again(page, NineHeads(off=off))
        for k in range(9):
            page.evaluate("k => model.set('head', k)", k)
            page.wait_for_timeout(260)  # until it is said
            heights.add(page.evaluate(HEIGHT))
        for word in (0, 9):
            page.evaluate("w => model.set('word', w)", word)
            page.wait_for_timeout(260)
            heights.add(page.evaluate(HEIGHT))
    assert len(heights) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = page.locator(".mhsa-says, .mhsa-text, .mhsa-bar .mhsa-number").evaluate_all(
        "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
    )
    assert cut == []


@pytest.mark.parametrize(("motion", "moves"), [("reduce", False), ("no-preference", True)])
def test_what_is_attended_to_flows_unless_the_reader_wants_no_motion(
    open_figure, motion, moves
):
    page = open_figure(NineHeads(), reduced_motion=motion)
    page.get_by_role("button", name="four").click()
    look(page, L24H4).click()
    assert bool(page.evaluate("document.getAnimations().length")) == moves


def test_a_link_that_names_a_head_twice_takes_it_off_once(open_figure):
    page = open_figure(NineHeads())
    mount_again(page, NineHeads())
    page.evaluate("model.set('off', [8, 8])")
    said(page, outcome([8]))


def test_python_and_the_page_talk_both_ways(open_figure):
    page = open_figure(NineHeads())
    mount_again(page, NineHeads())
    page.evaluate("model.set('off', [6, 7, 8])")
    said(page, outcome([6, 7, 8]))
    power(page, 6).click()
    assert page.evaluate("['off', 'head'].map(model.get)") == [[7, 8], 6]
    assert page.evaluate("saved") >= 1
    page.evaluate("end()")
    assert page.evaluate("listening()") == 0


@pytest.mark.parametrize("make", [NineHeads, SentenceLab])
@pytest.mark.parametrize("width", [PHONE, 720])
def test_the_page_keeps_room_for_the_figure_before_it_is_there(open_figure, make, width):
    page = open_figure(make(), width=width)
    alive = page.evaluate(HEIGHT)
    page.evaluate("""() => {
      const figure = document.querySelector("[data-mhsa-figure]");
      figure.removeAttribute("data-mhsa-alive");
      figure.querySelector(".mhsa-body").remove();
    }""")
    foot = 45  # what the book adds below a figure
    assert page.evaluate(HEIGHT) == pytest.approx(alive + foot, rel=0.08)


def test_on_paper_the_state_is_printed_without_its_buttons(open_figure):
    page = open_figure(NineHeads(off=[0, 1, 2, 3]))
    page.emulate_media(media="print")
    expect(page.locator(".mhsa-guide")).to_be_hidden()
    expect(page.locator(".mhsa-bar").nth(1)).to_contain_text(percent(chances([0, 1, 2, 3])[1]))
    expect(page.locator(".mhsa-touch").nth(9)).to_be_attached()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_in_forced_colours_what_is_on_differs_from_what_is_off(open_figure, colours):
    page = open_figure(NineHeads(off=[0]), forced_colors="active", color_scheme=colours)
    fill = "e => getComputedStyle(e).backgroundColor"
    knobs = page.locator(".mhsa-power .mhsa-knob")
    assert knobs.nth(0).evaluate(fill) != knobs.nth(1).evaluate(fill)
    track, bar = (page.locator(f".mhsa-{part}").first for part in ("track", "fill"))
    assert track.evaluate(fill) != bar.evaluate(fill)
