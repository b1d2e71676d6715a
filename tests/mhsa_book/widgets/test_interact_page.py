"""On a page without Python: sliders that choose among stored outputs, and nothing jumps."""

import matplotlib.pyplot as plt
import pytest

from mhsa_book.widgets import Interact

SHOWN = ".mhsa-stack > .mhsa-chosen"


def lines(n, word):
    print("\n".join(f"{word} {i}" for i in range(n)))


def made():
    return Interact(lines, n=[1, 4, 9, 2], word=["short", "a" * 60])


@pytest.fixture(params=[1280, 390])
def page(request, open_figure):
    return open_figure(made(), width=request.param)


def test_one_output_is_in_sight_and_heard(page):
    assert page.locator(SHOWN).inner_text() == "short 0"
    assert page.get_by_role("group").count() == 1
    assert page.get_by_role("group", name="n = 1, word = short").is_visible()


def test_keys_go_through_the_whole_range(page):
    n = page.get_by_label("n", exact=True)
    for key, value in zip(["Home", *["ArrowRight"] * 4], "14922", strict=True):
        n.press(key)
        assert n.get_attribute("aria-valuetext") == value
        assert page.locator(SHOWN).inner_text().count("short") == int(value)
    page.get_by_text("n = 2, word = short (setting 7 of 8)").wait_for()
    n.press("Home")
    assert page.locator(SHOWN).inner_text() == "short 0"


def test_the_mouse_reaches_every_stop(page):
    n = page.get_by_label("n", exact=True)
    box = n.bounding_box()
    for i, value in enumerate("1492"):
        page.mouse.click(box["x"] + 8 + i / 3 * (box["width"] - 16), box["y"] + 8)
        assert n.get_attribute("aria-valuetext") == value
        assert page.locator(SHOWN).inner_text().count("short") == int(value)


def test_two_sliders_choose_together(page):
    page.get_by_label("word", exact=True).press("ArrowRight")
    page.get_by_label("n", exact=True).press("ArrowRight")
    assert page.locator(SHOWN).inner_text().split("\n") == [f"{'a' * 60} {i}" for i in range(4)]


def test_no_setting_changes_a_place_or_a_height_and_nothing_scrolls_aside(page):
    places = """() => [...document.querySelectorAll(".mhsa-figure, input, .mhsa-stack")].map(
      (one) => Object.values(one.getBoundingClientRect().toJSON()).map(Math.round).join())"""
    at_first, width = page.evaluate(places), page.viewport_size["width"]
    for label, stops in (("n", 3), ("word", 1)):
        for _ in range(stops):
            page.get_by_label(label, exact=True).press("ArrowRight")
            assert page.evaluate(places) == at_first
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_picture_is_as_wide_as_the_page_at_most_and_keeps_its_words(open_figure):
    def draw(n):
        plt.figure(figsize=(7.6, 2), dpi=100)
        plt.plot(range(n))

    page = open_figure(Interact(draw, n=[2, 5], alt="A line over {n} points."), width=390)
    page.get_by_label("n", exact=True).press("ArrowRight")
    image = page.get_by_role("img")
    assert image.get_attribute("alt") == "A line over 5 points."
    assert 300 < image.bounding_box()["width"] <= 374


def test_without_scripts_all_outputs_stand_under_their_settings(chromium, tmp_path):
    file = tmp_path / "figure.html"
    file.write_text(f"<!doctype html><meta charset=utf-8>{made().html()}", encoding="utf-8")
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    found = page.locator("details")
    assert found.count() == 8
    assert found.nth(2).inner_text().split() == ["n", "=", "4,", "word", "=", "short"] + [
        word for i in range(4) for word in ("short", str(i))
    ]
    assert all(pre.is_visible() for pre in page.locator("pre").all())
    assert page.locator("input").count() == 0
    context.close()
