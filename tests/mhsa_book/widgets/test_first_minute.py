"""Six steps through the running example: what each adds, says, and costs."""

from statistics import median

import pytest
from playwright.sync_api import expect

from mhsa_book import examples
from mhsa_book.widgets import SentenceLab
from mhsa_book.widgets.sentence_lab.guided_steps import STEPS, says
from tests.mhsa_book.widgets.conftest import allowed
from tests.mhsa_book.widgets.test_on_a_phone import PHONE
from tests.mhsa_book.widgets.test_sentence_lab import STATES

FRAME = 1000 / 60
"""Milliseconds between two pictures of a screen: a step is there in the next one, and what it
moves leaves half of that to the browser."""

ARRIVES = [None, ".mhsa-made", ".mhsa-weighed", None, ".mhsa-learned", None]
"""What a step adds to the picture."""

NUMBERS = """(part) => [...document.querySelectorAll(`.mhsa-lane .mhsa-${part}`)].map(
  (one) => Number(one.textContent.replace("−", "-")))"""
FULL = """() => [...document.querySelectorAll(".mhsa-cells")].map((map) =>
  [...map.children].map((cell) => cell.getAttribute("fill-opacity")))"""
STEP = """async ([step, frames]) => {
  document.querySelectorAll(".mhsa-steps button")[step].click();
  document.body.getBoundingClientRect(); // layout included
  for (let i = 0; i < frames; i += 1) await new Promise((next) => requestAnimationFrame(next));
}"""
FRAMES = 20
COSTS = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")


def milliseconds(session, page, step, frames=0):
    """Script, style and layout of going to a step, and of frames that follow.

    Seconds of the page's own thread: other programs of the machine do not count.
    """

    def spent():
        metrics = session.send("Performance.getMetrics")["metrics"]
        return sum(one["value"] for one in metrics if one["name"] in COSTS)

    before = spent()
    page.evaluate(STEP, [step, frames])
    return 1000 * (spent() - before)


def onward(page):
    page.get_by_role("button", name="Next").click()


@pytest.mark.parametrize("width", [PHONE, 1000])
def test_every_step_says_its_sentence_and_adds_its_part(open_figure, width):
    page = open_figure(SentenceLab(), width=width)
    for step in range(len(STEPS)):
        expect(page.locator(".mhsa-says")).to_have_text(says(step, 0))
        expect(page.locator(".mhsa-says")).to_have_role("status")
        for late, part in enumerate(ARRIVES):
            if part:
                expect(page.locator(part).first).to_be_visible(visible=step >= late)
        assert page.locator("[aria-current=step]").inner_text().startswith(f"{step + 1} ")
        if step < len(STEPS) - 1:
            onward(page)
    expect(page.get_by_role("button", name="Next")).to_be_disabled()


def test_nothing_jumps_from_step_to_step(open_figure):
    for width in (270, PHONE, 620, 1000):
        page = open_figure(SentenceLab(), width=width)
        heights = set()
        for step in range(len(STEPS)):
            page.locator(".mhsa-steps button").nth(step).click()
            heights.add(round(page.locator(".mhsa-figure").bounding_box()["height"]))
        assert len(heights) == 1


def test_before_anybody_looks_two_nouns_are_in_question(open_figure):
    page = open_figure(SentenceLab())
    curves = page.locator(".mhsa-maybe path")
    words = [page.locator(".mhsa-word").nth(i).bounding_box() for i in (1, 4)]
    for curve, word in zip(curves.all(), words, strict=True):
        assert word["x"] < curve.bounding_box()["x"] < word["x"] + word["width"]
    expect(page.locator(".mhsa-arcs .mhsa-head-0")).to_be_hidden()
    assert page.locator(".mhsa-found").count() == 0
    page.get_by_role("button", name="street").click()
    expect(curves.first).to_be_hidden()


@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("what", ["word", "head"])
def test_what_is_pressed_before_anybody_looks_is_answered(open_figure, step, what):
    page = open_figure(SentenceLab(step=step))
    if what == "word":
        page.get_by_role("button", name="street").click()
        answer = "“street” finds itself: a place."
    else:
        page.get_by_role("checkbox", name="previous word").uncheck()
        answer = "“tired” belongs to something living: “animal”."
    expect(page.locator("[aria-current=step]")).to_have_text("3 Attend")
    expect(page.locator(".mhsa-arcs .mhsa-head-0")).to_be_visible()
    expect(page.get_by_text(answer)).to_be_visible()


def test_a_key_leaves_the_page_where_it_is(open_figure):
    page = open_figure(SentenceLab(), width=PHONE)
    page.set_viewport_size({"width": PHONE, "height": 700})
    tabs = page.locator(".mhsa-steps button")
    tabs.first.focus()
    page.keyboard.press("Shift")  # a key, so that the focus is shown
    before = page.evaluate("scrollY")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        assert page.evaluate("scrollY") == before
        focused = page.locator(":focus").bounding_box()
        assert focused["y"] >= 0
    assert page.locator("[aria-current=step]").inner_text() == "5 Concat, W_O"


def test_letters_of_the_lanes_stay_inside_on_a_phone(open_figure):
    page = open_figure(SentenceLab(step=2), width=PHONE)
    edge = page.locator(".mhsa-body").bounding_box()["x"] + 1  # its border
    boxes = page.locator(".mhsa-letters text").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().left)"
    )
    assert min(boxes) > edge + 4


def test_flipping_the_word_changes_one_map_and_one_row_of_it(open_figure):
    page = open_figure(SentenceLab(step=3))
    before = page.evaluate(FULL)
    page.get_by_role("radio", name="wide").check()
    expect(page.locator(".mhsa-says")).to_have_text(says(3, 1))
    changed = [
        [i // 7 for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
        for old, new in zip(before, page.evaluate(FULL), strict=True)
    ]
    assert changed == [[6, 6], [], []]


def test_lanes_and_concat_show_the_numbers_of_python_in_every_state(open_figure):
    page = open_figure(SentenceLab(step=4))
    wires = examples.running()
    for sentence, word in sorted({(s, w) for s, w, _ in STATES}):
        page.get_by_role("radio", name=("tired", "wide")[sentence]).check()
        if word < 6:
            page.locator(".mhsa-word").nth(word).click()
        else:
            page.get_by_role("radio", name=("tired", "wide")[sentence]).focus()
        weights, scores = (wires[name][sentence, :, word] for name in ("weights", "scores"))
        shown = page.evaluate(NUMBERS, "weight-is")
        assert shown == pytest.approx(weights.flatten().tolist(), abs=0.006)
        shown = page.evaluate(NUMBERS, "score")
        assert shown == pytest.approx(scores.flatten().tolist(), abs=0.06)
        z = [
            float(text.replace("−", "-"))
            for text in page.locator(".mhsa-z-is").all_inner_texts()
        ]
        assert z == pytest.approx(wires["z"][sentence, :, word].flatten().tolist(), abs=0.006)


def test_squares_are_as_full_as_the_numbers_are_large(open_figure):
    page = open_figure(SentenceLab(step=1))
    wires = examples.running()
    found = page.locator(".mhsa-square").evaluate_all(
        "all => all.map((one) => [one.getAttribute('fill-opacity'), "
        "one.getAttribute('stroke-opacity')].map(Number))"
    )
    rows = [(wires[f"{wire}_heads"], h) for h in range(3) for wire in "qkv"]
    wanted = {}
    for i, (wire, h) in enumerate(rows):
        for w in range(7):
            wanted[h, w, i % 3] = (wire[0, h, w] / wire[:, h].abs().max()).tolist()
    order = [wanted[h, w, r] for h in range(3) for w in range(7) for r in range(3)]
    flat = [value for row in order for value in row]
    assert [fill for fill, _ in found] == pytest.approx([max(v, 0) for v in flat], abs=1e-5)
    assert [edge for _, edge in found] == pytest.approx([abs(v) for v in flat], abs=1e-5)


def test_a_head_less_in_the_last_step_and_start_again(open_figure):
    page = open_figure(SentenceLab())
    page.get_by_role("button", name="One head off").press("Enter")
    page.get_by_role("checkbox", name="who is meant").press("Space")
    expect(page.get_by_text("Nobody tells “tired” what it belongs to.")).to_be_visible()
    assert page.locator(".mhsa-z.mhsa-head-0 .mhsa-z-is").all_inner_texts() == ["0"] * 4
    page.get_by_role("radio", name="wide").check()
    page.get_by_role("button", name="Start again").click()
    expect(page.locator(".mhsa-says")).to_have_text(says(0, 0))
    assert page.get_by_role("radio", name="tired").is_checked()
    assert page.get_by_role("checkbox", name="who is meant").is_checked()


def test_a_step_is_about_the_last_word_again(open_figure):
    page = open_figure(SentenceLab(step=2))
    page.get_by_role("button", name="avoided").click()
    expect(page.get_by_text("Where does “avoided” look?")).to_be_visible()
    onward(page)
    expect(page.get_by_text("What does “tired” belong to?")).to_be_visible()


def test_the_sentence_of_the_step_and_the_way_on_stay_in_sight_on_a_phone(open_figure):
    page = open_figure(SentenceLab(), width=PHONE)
    page.set_viewport_size({"width": PHONE, "height": 760})
    for _ in range(4):
        onward(page)
    page.wait_for_timeout(1300)  # until everything has arrived
    for sight in (page.locator(".mhsa-says"), page.get_by_role("button", name="Next")):
        box = sight.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 760
    box = page.locator(".mhsa-learned").bounding_box()
    assert box["y"] + box["height"] <= 760


def test_the_switch_and_what_it_takes_away_are_in_sight_together(open_figure):
    page = open_figure(SentenceLab(step=4))
    page.set_viewport_size({"width": 1000, "height": 860})
    onward(page)
    for sight in (
        page.get_by_role("checkbox", name="who is meant"),
        page.get_by_role("button", name="Previous"),
        page.locator(".mhsa-learned tbody tr").nth(1),
    ):
        box = sight.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 860


@pytest.mark.parametrize(("motion", "moves"), [("reduce", False), ("no-preference", True)])
def test_numbers_flow_unless_the_reader_wants_no_motion(open_figure, motion, moves):
    page = open_figure(SentenceLab(), reduced_motion=motion)
    for step in range(1, len(STEPS)):
        onward(page)
        running = page.evaluate("document.getAnimations().length")
        if ARRIVES[step]:
            assert bool(running) == moves
        elif not moves:
            assert running == 0


def test_on_paper_the_six_stills_follow(open_figure):
    page = open_figure(SentenceLab())
    stills = page.locator(".mhsa-stills li")
    expect(stills.first).to_be_hidden()
    page.emulate_media(media="print")
    assert stills.count() == len(STEPS)
    for still in stills.all():
        expect(still).to_be_visible()
    expect(page.locator(".mhsa-steps")).to_be_hidden()


def test_without_scripts_the_six_stills_are_there(chromium, tmp_path):
    file = tmp_path / "figure.html"
    file.write_text(
        f"<!doctype html><meta charset=utf-8>{SentenceLab().html()}", encoding="utf-8"
    )
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    for i, still in enumerate(page.locator(".mhsa-stills li").all()):
        expect(still.get_by_text(says(i, 0))).to_be_visible()
        assert still.locator("img").bounding_box()["width"] > 200
    context.close()


@pytest.mark.parametrize("step", range(1, len(STEPS)))
@pytest.mark.parametrize("width", [PHONE, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_step_and_each_of_its_frames_is_quick(open_figure, report, width, step):
    page = open_figure(SentenceLab(), width=width)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    whole, frames = [], []
    for _ in range(5):
        milliseconds(session, page, step - 1)
        whole.append(milliseconds(session, page, step))
        frames.append(milliseconds(session, page, step, FRAMES) / FRAMES)
    whole, frame = median(whole), max(frames)
    report(f"first minute, step {step + 1}, {width} px: {whole:.1f} ms, a frame {frame:.2f} ms")
    assert whole <= allowed(page, FRAME)
    assert frame <= allowed(page, FRAME / 2)
