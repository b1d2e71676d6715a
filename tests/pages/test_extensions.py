"""The book's own extensions of Sphinx, on small trees and strings."""

import sys
from types import SimpleNamespace

import chapter_names
import glossary_hover
import image_sizes
import matplotlib.pyplot as plt
import moved
import once
import page_facts
from docutils import nodes
from docutils.core import publish_doctree
from PIL import Image

from tools import ROOT
from tools.build import plain

sys.path.insert(0, str(ROOT / "book" / "_ext"))
STYLE = '<style data-mhsa-piece="kit:1">p{}</style>'
SCRIPT = '<script type="text/plain" data-mhsa-piece="kit:1">const a = "<b>";\nf()</script>'


def test_a_piece_is_kept_once_and_its_place_is_the_first():
    assert once.once(f"{STYLE}{SCRIPT}<p>x</p>{STYLE}{SCRIPT}") == f"{STYLE}{SCRIPT}<p>x</p>"


def test_pieces_of_other_content_or_kind_are_others():
    other = STYLE.replace("kit:1", "kit:2")
    assert once.once(STYLE + other + SCRIPT) == STYLE + other + SCRIPT


def test_scripts_and_data_without_a_piece_are_left_alone():
    html = '<script>f()</script><script type="application/json">{"a": 1}</script>' * 2
    assert once.once(html) == html


def test_a_picture_says_how_large_it_is(tmp_path):
    files = {name: tmp_path / name for name in ("a.png", "b.svg", "c.svg")}
    Image.new("RGB", (30, 20)).save(files["a.png"])
    plt.figure(figsize=(3, 2)).savefig(files["b.svg"])
    plt.close()
    files["c.svg"].write_text('<svg viewBox="0 0 3 2"/>', encoding="utf-8")
    html = "".join(f'<img alt="x" src="../_images/{name}" />' for name in files)
    a, b, c = image_sizes.sized(html, files).split(" />")[:3]
    assert a.startswith('<img width="30" height="20" alt="x"')
    assert b.startswith('<img width="288" height="192" alt="x"')  # 96 pixels are an inch
    assert "width" not in c


def test_a_page_that_moved_leads_on_and_nothing_is_written_after_an_error(tmp_path):
    (tmp_path / "notebooks").mkdir()
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html"))
    moved.write(app, ValueError())
    assert [*tmp_path.rglob("*.html")] == []
    moved.write(app, None)
    (page,) = tmp_path.rglob("*.html")
    assert page == tmp_path / "notebooks" / "00_primer.html"
    assert page.read_text(encoding="utf-8").count('"primer.html"') == 3


def test_a_page_without_a_name_of_its_own_keeps_its_title():
    contents = {
        name: SimpleNamespace(title=title) for name, title in [("a", "07 A"), ("b", None)]
    }
    assert chapter_names.names(contents) == {"a": "07 A"}


def test_the_line_under_the_title_keeps_the_theme_s_addresses():
    buttons = [
        {"buttons": [{"text": "Colab", "url": "https://colab/x.ipynb"}], "label": "launch"},
        {"text": ".ipynb", "label": "download-source-button", "url": "../x.ipynb"},
        {"text": "Suggest edit", "label": "source-edit-button", "url": "https://edit?a=1&b"},
    ]
    html = page_facts.line(page_facts.links(buttons))
    assert '<a href="https://colab/x.ipynb">Open in Colab</a>' in html
    assert '<a href="../x.ipynb" download>Download notebook</a>' in html
    assert '<a href="https://edit?a=1&amp;b">Edit this page</a>' in html


def test_colab_opens_the_plain_edition():
    theirs = plain.colab("04_split").replace("/blob/plain/", "/blob/main/notebooks/")
    buttons = [{"buttons": [{"text": "Colab", "url": theirs}], "label": "launch"}]
    page_facts.to_plain(buttons)
    assert page_facts.links(buttons) == [("Open in Colab", plain.colab("04_split"))]


def test_a_link_to_a_term_shows_what_it_means():
    glossary = publish_doctree("key\n  What is asked.\n\n  More.\n")
    next(glossary.findall(nodes.term))["ids"] = ["term-key"]
    env = SimpleNamespace(found_docs={"book/glossary"}, get_doctree=lambda name: glossary)
    to_term = nodes.reference("", "key", refuri="../book/glossary.html#term-key")
    elsewhere = nodes.reference("", "key", refuri="02.html#key")
    page = nodes.section("", nodes.paragraph("", "", to_term, elsewhere))
    glossary_hover.explain(SimpleNamespace(env=env), page, "01")
    assert to_term["reftitle"] == "What is asked."
    assert "reftitle" not in elsewhere
