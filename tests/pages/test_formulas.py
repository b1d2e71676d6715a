r"""Formulas without JavaScript: MathML stands there, and no TeX."""

import re

import formulas

from tools.check.browser import DESKTOP

CHAPTER = "notebooks/05_attend.html"


def test_a_formula_of_a_line_and_one_of_its_own():
    html = formulas.with_mathml(
        '<span class="math notranslate nohighlight">\\(a &lt; b\\)</span>'
        '<div class="math notranslate nohighlight" id="x">\n'
        '<span class="eqno">(1)</span>\\[\\sqrt{4}\\]</div>'
    )
    line, block = re.findall(r"<noscript>(.*?)</noscript>", html)
    assert 'display="inline"' in line
    assert "<mo>&lt;</mo>" in line or "<mo>&#x0003C;</mo>" in line
    assert 'display="block"' in block
    assert "<msqrt>" in block
    assert "\\" not in line + block


def test_every_formula_of_the_book_has_its_mathml(pages):
    n = 0
    for page in pages.values():
        for formula in page.soup.select("article .math.notranslate"):
            behind = formula.find_next_sibling()
            assert behind.name == "noscript", (page.name, formula.text)
            assert behind.find("math"), (page.name, formula.text)
            n += 1
    assert n > 150


def test_without_scripts_no_tex_is_shown(chromium, served):
    tab = chromium.new_context(viewport=DESKTOP, java_script_enabled=False).new_page()
    tab.goto(f"{served}/{CHAPTER}", wait_until="load")
    assert "\\(" not in tab.locator("article").inner_text()
    assert tab.locator("article math msqrt").first.is_visible()
    tab.context.close()


def test_with_scripts_a_formula_stands_there_once(chromium, served):
    tab = chromium.new_context(viewport=DESKTOP).new_page()
    tab.goto(f"{served}/{CHAPTER}", wait_until="load")
    tab.wait_for_selector("mjx-container")
    assert tab.locator("article noscript math").count() == 0
    tab.context.close()
