"""What a reader can do to the translator inside the page, and how its weights get there."""

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from mhsa_lib.experiments.translation import heads_of
from mhsa_lib.widgets import TranslatorLab
from mhsa_lib.widgets.translator_lab import rules, weights
from tests.helpers.needs import missing
from tests.widgets.conftest import said
from tests.widgets.plain_model import mount_again
from tests.widgets.test_figure import AXE
from tools.build import assets

HEADS = [repr(head) for head in heads_of(weights.MODEL())]
CROSS = [f"cross L1H{h}" for h in range(4)]
SENTENCE = "tekan ul meti balo ip sako"


@pytest.fixture
def beside(tmp_path):
    """The assets of the book where a page looks for them; their sizes."""
    return assets.write(tmp_path / "vendor" / "assets")


def load(page):
    page.get_by_role("button", name="Load the model").click()
    page.locator(".mhsa-said-words").wait_for()
    return page


@pytest.fixture
def loaded(open_figure, beside):
    """Open a figure and press its button."""
    return lambda figure, **options: load(open_figure(figure, **options))


def words(page):
    """The words of the strip, with what a screen reader hears of each."""
    return page.locator(".mhsa-said-words button .mhsa-hidden").all_inner_texts()


def translation(page):
    """What the page says without marks, and without the end."""
    return " ".join(page.locator("button .mhsa-text").all_inner_texts()[:-1])


def head(page, name):
    return page.get_by_role("checkbox", name=name, exact=True)


# --- the model comes when it is asked for ----------------------------------------------------


def test_nothing_is_loaded_before_the_button_is_pressed_and_its_size_is_true(
    open_figure, beside
):
    page = open_figure(TranslatorLab())
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    assert page.locator(".mhsa-rules").inner_text() == (
        "By the rules: hai dastu dastu dastu nalesh nolu krada"
    )
    assert page.locator(".mhsa-gold").count() == 8
    (size,) = beside.values()
    page.get_by_role("button", name=f"Load the model ({size / 1000:.0f} kB)").click()
    page.locator(".mhsa-said-words").wait_for()
    assert [url.rpartition("/")[2] for url in asked] == [*beside]
    assert asked[0].startswith("file:")
    assert page.get_by_role("button", name="Load the model").count() == 0
    page.get_by_text("Loaded: the model.").wait_for()
    assert page.locator("script[src]").count() == 0
    assert page.evaluate("mhsaAssets.size") == 0
    assert translation(page) == TranslatorLab().translation


def test_it_comes_over_http_too_from_the_root_of_a_book(tabs, tmp_path, beside):
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    (tmp_path / "notebooks").mkdir()
    html = TranslatorLab().html()
    page_of_sphinx = f'<!doctype html><html lang="en" data-content_root="../">{html}'
    (tmp_path / "notebooks" / "page.html").write_text(page_of_sphinx, encoding="utf-8")
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("localhost", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = tabs.browser.new_page()
        page.goto(f"http://localhost:{server.server_port}/notebooks/page.html")
        load(page)
        assert translation(page) == TranslatorLab().translation
        page.close()
        server.shutdown()


def test_where_the_model_is_missing_the_page_says_what_to_do_and_tries_again(tabs, tmp_path):
    file = tmp_path / "alone.html"
    file.write_text(f"<!doctype html>{TranslatorLab().html()}", encoding="utf-8")
    page = tabs.browser.new_page()
    page.goto(file.as_uri())
    page.get_by_role("button", name="Load the model").click()
    alert = page.locator(".mhsa-loading [role=alert]")
    expect(alert).to_contain_text("vendor/assets/translator-")
    expect(alert).to_contain_text("is not beside this page. It lies in the built book:")
    expect(alert).to_contain_text("“make book”")
    assets.write(tmp_path / "vendor" / "assets")
    load(page)
    expect(alert).to_have_count(0)
    page.close()


def test_an_asset_of_another_size_is_refused(open_figure, beside, tmp_path):
    (file,) = (tmp_path / "vendor" / "assets").iterdir()
    key = file.name.removesuffix(".js")
    file.write_text(f'window.mhsaAssets.set("{key}", "AAAA");', encoding="utf-8")
    page = open_figure(TranslatorLab())
    page.get_by_role("button", name="Load the model").click()
    alert = page.locator(".mhsa-loading [role=alert]")
    expect(alert).to_contain_text(f"does not have the {len(weights.asset().data)} bytes")
    assert page.locator(".mhsa-said-words").count() == 0


# --- switches --------------------------------------------------------------------------------


def test_switching_heads_off_by_mouse_marks_words_that_became_wrong(loaded):
    page, lab, whole = loaded(TranslatorLab()), TranslatorLab(off=CROSS), TranslatorLab()
    assert translation(page) == whole.translation == whole.right
    assert page.locator(".mhsa-wrong, .mhsa-extra, .mhsa-missing").count() == 0
    before = page.locator(".mhsa-map").inner_text()
    for name in CROSS:
        head(page, name).click()
    assert translation(page) == lab.translation != lab.right
    wrong = page.locator(".mhsa-said-words .mhsa-wrong")
    assert wrong.count() == 5
    assert wrong.locator("s").count() == wrong.locator("b").count() == 5
    assert set(wrong.locator(".mhsa-mark").all_inner_texts()) == {"✗"}
    assert sum("; wrong, right is dastu" in heard for heard in words(page)) == 3
    assert page.locator(".mhsa-map").inner_text() != before
    assert "5 wrong" in said(page, "Without 4 heads (0 instead)")
    page.get_by_role("button", name="All heads on").click()
    assert translation(page) == whole.right
    assert page.locator(".mhsa-map").inner_text() == before


def test_the_space_bar_switches_a_head_and_enter_a_layer(loaded):
    page, lab = loaded(TranslatorLab()), TranslatorLab(off=["decoder L0H2"])
    head(page, "decoder L0H2").focus()
    page.keyboard.press("Space")
    assert translation(page) == lab.translation
    assert "Without decoder L0H2" in said(page, "Without")
    page.get_by_role("button", name="cross L1: all off").focus()
    page.keyboard.press("Enter")
    assert [head(page, name).is_checked() for name in CROSS] == [False] * 4
    lab.off = ["decoder L0H2", *CROSS]
    assert translation(page) == lab.translation
    assert page.evaluate("document.activeElement.textContent") == "all on"
    page.keyboard.press("Enter")
    assert [head(page, name).is_checked() for name in CROSS] == [True] * 4


@pytest.mark.parametrize("instead", ["zero", "mean"])
def test_every_head_alone_does_what_it_does_in_python(loaded, instead):
    page = loaded(TranslatorLab(greeting="hoila ren"))
    page.get_by_label("a head that is off gives").select_option(
        index=["zero", "mean"].index(instead)
    )
    assert page.get_by_role("checkbox").count() == len(HEADS) == 24
    for name in HEADS:
        head(page, name).uncheck()
        alone = TranslatorLab(greeting="hoila ren", off=[name], instead=instead)
        assert translation(page) == alone.translation, name
        head(page, name).check()


def test_a_finger_switches_a_head(loaded):
    page = loaded(TranslatorLab(), width=390, has_touch=True)
    head(page, "cross L0H1").tap()
    assert not head(page, "cross L0H1").is_checked()
    assert "Without cross L0H1" in said(page, "Without")


# --- the sentence, the greeting, the map -----------------------------------------------------


def test_a_sentence_is_chosen_word_by_word(loaded):
    page = loaded(TranslatorLab())
    page.get_by_label("first clause: verb").select_option("rolan")
    page.get_by_label("first clause, first phrase: number").select_option("ip")
    page.get_by_label("first clause, first phrase: adjective").select_option("–")
    typed = page.get_by_label("Sentence", exact=True)
    assert typed.input_value() == "rolan ip balo ip sako"
    assert translation(page) == TranslatorLab("rolan ip balo ip sako").translation
    menu = page.get_by_label("first clause, second phrase: noun")
    assert menu.locator("option:disabled").all_inner_texts() == ["balo"]
    menu.focus()
    page.get_by_label("between two clauses: join").select_option("sa")
    assert typed.input_value() == "rolan ip balo ip sako sa rolan ip mabo"
    assert page.get_by_label("second clause: verb").count() == 1
    assert translation(page) == TranslatorLab(typed.input_value()).translation


def test_a_sentence_is_typed_or_refused_in_words_with_a_way_back(loaded):
    page = loaded(TranslatorLab())
    typed = page.get_by_label("Sentence", exact=True)
    for text in ("rolan meti balo", "rolan ot balo", "the animal", "<img src=x>"):
        typed.fill(text)
        typed.press("Enter")
        assert page.locator(".mhsa-notice [role=alert]").inner_text() == rules.problem(text)
        assert typed.get_attribute("aria-invalid") == "true"
        assert translation(page) == TranslatorLab().translation
    assert page.locator("img").count() == 0
    page.get_by_role("button", name="sentence = “").click()
    assert typed.input_value() == SENTENCE
    typed.fill("  sevan ul tino   ip zuko ")
    typed.press("Enter")
    assert typed.input_value() == "sevan ul tino ip zuko"
    assert translation(page) == TranslatorLab("sevan ul tino ip zuko").translation


def test_another_sentence_is_one_that_the_model_knows(loaded):
    page = loaded(TranslatorLab())
    for _ in range(5):
        page.get_by_role("button", name="Another sentence").click()
        text = page.get_by_label("Sentence", exact=True).input_value()
        assert rules.problem(text) is None
        assert translation(page) == TranslatorLab(text).translation


@pytest.mark.parametrize("greeting", [*rules.BEGINNINGS])
def test_the_translation_begins_as_the_reader_likes(loaded, greeting):
    page = loaded(TranslatorLab())
    page.get_by_label("The translation begins with").select_option(greeting)
    assert translation(page) == TranslatorLab(greeting=greeting).right
    assert translation(page).startswith(f"{greeting} ")


def test_the_map_of_any_head_is_shown_with_the_chosen_word(loaded):
    page = loaded(TranslatorLab())
    assert page.locator(".mhsa-gold").count() == 8
    page.locator(".mhsa-said-words button").nth(1).click()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert page.locator(".mhsa-asks th").inner_text() == "dastu"
    assert "cross L1H0 looks at “balo”" in said(page, "“dastu” has")
    page.locator(".mhsa-map tbody tr").nth(4).click()
    assert page.locator(".mhsa-asks th").inner_text() == "nalesh"
    assert "looks at “meti”" in said(page, "“nalesh” has")
    for name, rows, columns in (("decoder L1H3", 8, 8), ("encoder L0H0", 6, 6)):
        page.get_by_role("button", name=f"Show {name}", exact=True).click()
        assert page.locator(".mhsa-map tbody tr").count() == rows
        assert page.locator(".mhsa-map thead th").count() == columns
        assert page.locator(".mhsa-gold").count() == 0
        assert page.get_by_role("table", name=f"Weights of {name}").is_visible()


def test_python_can_set_all_of_it(open_figure, beside):
    page = open_figure(TranslatorLab())
    mount_again(page, TranslatorLab())
    load(page)
    page.evaluate(
        """() => { model.set("sentence", "rolan ot meti balo"); model.set("greeting", "hoi");
        model.set("off", ["cross L1H0"]); model.set("head", "cross L0H3");
        model.set("instead", "mean"); model.set("word", 99); }"""
    )
    lab = TranslatorLab(
        "rolan ot meti balo", greeting="hoi", off=["cross L1H0"], instead="mean"
    )
    assert translation(page) == lab.translation
    assert not head(page, "cross L1H0").is_checked()
    assert page.get_by_label("a head that is off gives").input_value().startswith("its mean")
    assert "the end" in said(page, "Without cross L1H0 (their mean")
    page.evaluate("end()")
    assert page.evaluate("listening()") == 0


# --- how it looks, and how long it takes -----------------------------------------------------

LONGEST = "tekan ul balo ip goti kero ke rolan ip lari noso"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_alive_it_fits_and_has_nothing_that_axe_finds(loaded, width, theme):
    if not AXE.exists():
        missing("no axe-core in node_modules: run `make vendored`")
    page = loaded(TranslatorLab(LONGEST, off=CROSS), width=width, theme=theme)
    page.add_script_tag(path=str(AXE))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    violations = page.evaluate("axe.run()")["violations"]
    assert [(v["id"], v["nodes"][0]["html"], v["help"]) for v in violations] == []


TIMED = """async (selector) => {
  const times = [];
  const all = () => document.querySelectorAll(selector); // some are drawn anew
  for (let i = 0; i < all().length; i += 1) {
    const start = performance.now();
    all()[i].click();
    document.body.getBoundingClientRect();  // layout included
    times.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}"""


def test_an_interaction_takes_less_than_50_ms(open_figure, beside, report):
    page = open_figure(TranslatorLab(LONGEST))
    page.evaluate("""() => { window.long = []; new PerformanceObserver((list) =>
      long.push(...list.getEntries().map(({ duration }) => duration)),
    ).observe({ type: "longtask" }); }""")
    load(page)
    page.wait_for_timeout(300)
    start = max(page.evaluate("long"), default=0)
    off = page.evaluate(TIMED, ".mhsa-card input")
    show = page.evaluate(TIMED, ".mhsa-small")
    word = page.evaluate(TIMED, ".mhsa-said-words button")
    report(
        f"translator: {off:.1f} ms to switch a head, {show:.1f} ms to show one, {word:.1f} ms "
        f"to choose a word; the longest task while it loads {start:.0f} ms"
    )
    assert max(off, show, word) < 50
