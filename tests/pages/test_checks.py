"""A check is one quiet word until a reader opens it, by mouse or by keyboard."""

import pytest

from tests.notebooks.conftest import read
from tools import ROOT
from tools.build.notebooks import code_cells, tags
from tools.check.browser import PHONE

PAGE = "notebooks/12_what_heads_learn.html"
SOURCE = read(ROOT / "notebooks" / "12_what_heads_learn.ipynb")
N_CHECKS = sum("check" in tags(cell) for cell in code_cells(SOURCE))
CHECK = ".tag_check > details"
LOOK = """all => all.map(details => {
  const word = [...details.querySelectorAll("summary > p")].find(p => p.checkVisibility());
  const { color, fontSize, fontWeight } = getComputedStyle(word);
  const { borderTopWidth, backgroundColor } = getComputedStyle(details);
  return [word.innerText, color, fontSize, fontWeight, borderTopWidth, backgroundColor].join();
})"""
MUTED = """() => {
  const probe = document.querySelector(".bd-article").appendChild(document.createElement("i"));
  probe.style.color = "var(--pst-color-text-muted)";
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}"""


@pytest.fixture(params=["light", "dark"])
def page(request, served):
    tab = request.getfixturevalue(request.param).new_page()
    tab.goto(f"{served}/{PAGE}", wait_until="load")
    theme = f"document.documentElement.dataset.theme === '{request.param}'"
    tab.wait_for_function(theme, timeout=5_000)
    yield tab
    tab.close()


def test_every_check_is_folded_and_has_one_quiet_look(page):
    looks = page.locator(CHECK).evaluate_all(LOOK)
    assert len(looks) == page.locator(".tag_check").count() == N_CHECKS > 3
    assert page.locator(f"{CHECK}[open]").count() == 0
    (look,) = {*looks}
    word, *style = look.split(",", 1)
    assert word == "Check"
    assert style[0].startswith(page.evaluate(MUTED))
    assert style[0].endswith("0px,rgba(0, 0, 0, 0)")


def test_it_opens_by_keyboard_and_shows_its_assertions(page):
    check = page.locator(CHECK).first
    word = check.locator("summary > p >> visible=true")
    before = word.bounding_box()["x"]
    assert not check.locator(".cell_input").is_visible()
    check.locator("summary").focus()
    page.keyboard.press("Enter")
    assert check.locator(".cell_input").is_visible()
    assert "assert " in check.inner_text()
    assert word.bounding_box()["x"] == before  # it does not jump
    page.keyboard.press("Enter")
    assert not check.locator(".cell_input").is_visible()


def test_it_fits_on_a_phone(page):
    page.set_viewport_size(PHONE)
    box = page.locator(f"{CHECK} > summary").first.bounding_box()
    assert 0 <= box["x"] < box["x"] + box["width"] <= PHONE["width"]
    assert 24 <= box["height"] < 40


def test_the_downloaded_notebook_folds_it_under_the_same_word(pages, site):
    notebook = (site / "_sources" / "notebooks" / "12_what_heads_learn.ipynb").read_text(
        encoding="utf-8"
    )
    assert notebook.count('"# @title Check\\n"') == notebook.count("# @title Check") == N_CHECKS
