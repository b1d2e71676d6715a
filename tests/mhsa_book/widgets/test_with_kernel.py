"""With a kernel the same figures talk to Python both ways: a real server, in Chromium."""

import pytest
from playwright.sync_api import expect

from tests.helpers.lab import WAIT, Notebook
from tests.mhsa_book.widgets.conftest import confirm

pytest.importorskip("jupyterlab")
pytestmark = pytest.mark.slow  # a server, and a kernel for each notebook


@pytest.fixture
def notebook(server, chromium, request):
    opened = []

    def open_one(*cells):
        opened.append(Notebook(server, chromium, request.node.name, list(cells)))
        return opened[-1]

    yield open_one
    for one in opened:
        one.page.close()


def test_the_shape_tracer_and_python_change_each_other(notebook):
    nb = notebook(
        "from mhsa_book.widgets import ShapeTracer\ntracer = ShapeTracer()\ntracer",
        "print(tracer.seq, tracer.d_head)",
        "tracer.n_heads, tracer.n_kv_heads = 4, 2",
    )
    figure = nb.run(0)
    seq = figure.get_by_label("seq, exactly")
    expect(seq).to_have_value("6", timeout=WAIT)
    confirm(seq, "100")
    figure.get_by_label("d_head = d_model / n_heads").uncheck()
    confirm(figure.get_by_label("d_head, exactly"), "9")
    expect(nb.run(1)).to_have_text("100 9")
    nb.run(2)
    expect(figure.get_by_label("n_heads, exactly")).to_have_value("4")
    expect(figure.locator("tr", has_text="concat")).to_contain_text("d_heads 36")


def test_the_cache_calculator_and_python_change_each_other(notebook):
    nb = notebook(
        "from mhsa_book.widgets import CacheCalculator\nshown = CacheCalculator()\nshown",
        "print(shown.model, shown.kind, shown.layers, shown.tokens, shown.cache_bytes)",
        "shown.model, shown.tokens = 'GPT-2', 1000",
    )
    figure = nb.run(0)
    expect(figure.get_by_label("layers, exactly")).to_have_value("32", timeout=WAIT)
    figure.get_by_label("model").select_option("DeepSeek-V3")
    confirm(figure.get_by_label("tokens, exactly"), "10")
    confirm(figure.get_by_label("layers, exactly"), "3")
    expect(nb.run(1)).to_have_text(f"own sizes MLA 3 10 {3 * 10 * 576 * 2}")
    nb.run(2)
    expect(figure.get_by_label("layers, exactly")).to_have_value("12")
    expect(figure.get_by_label("tokens, exactly")).to_have_value("1000")


def test_the_head_explorer_and_python_change_each_other(notebook):
    nb = notebook(
        "from mhsa_lib import pretrained\nfrom mhsa_book.widgets import HeadExplorer\n"
        "explorer = HeadExplorer.of(models.load(), 'The cat sat')\nexplorer",
        "print(explorer.layer, explorer.head, explorer.sort, explorer.text, explorer.shape)",
        "explorer.layer, explorer.view, explorer.hidden = 3, 'lines', ['[CLS]']",
        "explorer.text = 'Two dogs ran to me'",
    )
    figure = nb.run(0)
    expect(figure.locator(".mhsa-head")).to_have_count(72, timeout=WAIT)
    figure.get_by_role("button", name="layer 2, head 5").click()
    nb.page.keyboard.press("ArrowDown")
    nb.page.keyboard.press("ArrowRight")
    expect(figure.locator(".mhsa-name").first).to_have_text("L3H6")
    nb.page.keyboard.press("ArrowUp")
    nb.page.keyboard.press("ArrowLeft")
    figure.get_by_label("sort").select_option("next")
    figure.get_by_label("text", exact=True).fill("I saw a bird")
    figure.get_by_label("text", exact=True).press("Enter")
    expect(figure.locator(".mhsa-picture").first).to_contain_text("bird", timeout=WAIT)
    expect(nb.run(1)).to_have_text("2 5 next I saw a bird (6, 12, 6, 6)")
    nb.run(2)
    expect(figure.locator(".mhsa-name").first).to_have_text("L3H5")
    expect(figure.get_by_label("hide [CLS]")).to_be_checked()
    nb.run(3)
    expect(figure.locator(".mhsa-picture").first).to_contain_text("dogs", timeout=WAIT)
    figure.get_by_label("text", exact=True).fill("")
    figure.get_by_label("text", exact=True).press("Enter")
    expect(figure.get_by_role("alert").first).to_contain_text("no tokens", timeout=WAIT)


def test_own_sentence_loads_from_python_and_tells_it_nothing(notebook):
    nb = notebook(
        "from mhsa_book.widgets import OwnSentence\nown = OwnSentence('The cat sat')\nown",
        "print(own.sentence, own.layer, own.head, own.shape)",
        "own.sentence, own.layer, own.head = 'Two dogs ran to me', 3, 1",
    )
    figure = nb.run(0)
    expect(figure.locator(".mhsa-head")).to_have_count(72, timeout=WAIT)
    figure.get_by_role("button", name="Load the model (34.2 MB)").click()
    expect(figure.locator(".mhsa-switch")).to_have_count(78, timeout=WAIT)
    figure.get_by_label("text", exact=True).fill("I saw a bird")
    figure.get_by_label("text", exact=True).press("Enter")
    expect(figure.locator(".mhsa-picture").first).to_contain_text("bird", timeout=WAIT)
    figure.get_by_role("button", name="layer 2, head 5", exact=True).first.click()
    expect(nb.run(1)).to_have_text("The cat sat 0 0 (6, 12, 5, 5)")
    nb.run(2)
    expect(figure.locator(".mhsa-picture").first).to_contain_text("dogs", timeout=WAIT)
    expect(figure.locator(".mhsa-name").first).to_have_text("L3H1")


def test_sliders_of_interact_call_the_function_that_the_reader_has_edited(notebook):
    use = "\nfrom mhsa_book.widgets import Interact\nshown = Interact(say, n=[2, 3, 4])\nshown"
    nb = notebook(
        "def say(n):\n    print(n, 'squared is', n * n)\n" + use,
        "shown.at = [1]",
        "def say(n):\n    return f'{n} cubed is {n**3}'\n" + use,
    )
    output = nb.run(0)
    expect(output.locator("pre")).to_have_text("2 squared is 4", timeout=WAIT)
    output.get_by_role("slider").press("ArrowRight")
    output.get_by_role("slider").press("ArrowRight")
    expect(output.locator("pre")).to_have_text("4 squared is 16")
    nb.run(1)
    expect(output.locator("pre")).to_have_text("3 squared is 9")
    expect(output.locator(".widget-readout")).to_have_text("3")
    edited = nb.run(2)
    expect(edited.locator("pre")).to_have_text("2 cubed is 8", timeout=WAIT)
    edited.get_by_role("slider").press("ArrowRight")
    expect(edited.locator("pre")).to_have_text("3 cubed is 27")


def test_a_slider_of_ipywidgets_is_linked_to_the_scale_lab(notebook):
    nb = notebook(
        "import ipywidgets\nfrom mhsa_book.widgets import ScaleLab\nlab = ScaleLab(d_head=64)\n"
        "slider = ipywidgets.IntSlider(64, 1, 1024, description='d_head')\n"
        "ipywidgets.link((slider, 'value'), (lab, 'd_head'))\ndisplay(slider, lab)",
        "print(slider.value, lab.d_head)",
    )
    nb.run(0)
    linked, figure = nb.cells.nth(0).locator(".jp-OutputArea-output").all()[:2]
    typed = figure.get_by_label("d_head, exactly")
    expect(typed).to_have_value("64", timeout=WAIT)
    linked.get_by_role("slider").press("ArrowRight")
    expect(typed).to_have_value("65")
    confirm(typed, "256")
    expect(linked.locator(".widget-readout")).to_have_text("256")
    figure.get_by_label("d_head", exact=True).press("End")
    expect(linked.locator(".widget-readout")).to_have_text("1024")
    expect(nb.run(1)).to_have_text("1024 1024")


def test_the_tile_lab_and_python_change_each_other(notebook):
    nb = notebook(
        "from mhsa_book.widgets import TileLab\nlab = TileLab()\nlab",
        "print(lab.mask, lab.step, lab.loop.computed)",
        "lab.mask, lab.memory, lab.step = 'none', 512, 0",
    )
    figure = nb.run(0)
    expect(figure.locator(".mhsa-said")).to_contain_text("Tile 2 of 64", timeout=WAIT)
    figure.get_by_label("mask").select_option("causal")
    figure.get_by_role("button", name="Next").click()
    expect(nb.run(1)).to_have_text("causal 2 36")
    nb.run(2)
    expect(figure.locator(".mhsa-said")).to_contain_text("Tile 1 of 16: keys and values 0")
    expect(figure.get_by_label("mask")).to_have_value("none: all keys")


def test_the_ranks_lab_and_python_change_each_other(notebook):
    nb = notebook(
        "from mhsa_book.widgets import RanksLab\nlab = RanksLab()\nlab",
        "print(lab.cut, lab.ranks, lab.share.kept)",
        "lab.kind, lab.cut, lab.ranks = 'latent', 'heads', 2",
    )
    figure = nb.run(0)
    expect(figure.locator(".mhsa-said")).to_contain_text("Each of 4 ranks", timeout=WAIT)
    confirm(figure.get_by_label("ranks, exactly"), "32")
    figure.get_by_label("cut by").select_option("tokens, heads exchanged")
    expect(nb.run(1)).to_have_text(f"tokens, heads exchanged 8 {512 * 2 * 8 * 128 * 2}")
    nb.run(2)
    expect(figure.locator(".mhsa-said")).to_contain_text("has 64 of 128 query heads, holds")
    expect(figure.get_by_label("cut by")).to_have_value("heads")
