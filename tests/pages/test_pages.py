"""The built pages as files: all there, linked, described; a chapter opens where it should."""

import re
import shutil
import subprocess

import nbformat

from tools import ROOT
from tools.build import links, plain
from tools.build.notebooks import notebooks
from tools.build.repository import project
from tools.check.pages import SITE, Page


def test_the_site_has_a_page_for_every_entry_of_the_table_of_contents(pages):
    entries = re.findall(
        r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8")
    )
    assert entries
    assert [e for e in entries if SITE / f"{e}.html" not in pages] == []


def test_every_internal_link_leads_to_a_file_and_an_anchor(pages):
    broken = []
    for page in pages.values():
        for link in page.links:
            found = page.target(link)
            if found is None:
                continue
            file, anchor = found
            file = file / "index.html" if file.is_dir() else file
            if not file.exists() or SITE not in file.parents:
                broken.append(f"{page.name}: {link} (no such file)")
            elif anchor and file in pages and anchor not in pages[file].anchors:
                broken.append(f"{page.name}: {link} (no such anchor)")
    assert broken == []


def test_every_link_of_the_plain_notebooks_leads_to_a_page_and_an_anchor(pages):
    there = {f"{links.site()}/{page.name}": page for page in pages.values()}
    broken = []
    for path in sorted(plain.FOLDER.glob("*.ipynb")):
        text = "".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
        for link in re.findall(rf"\(({re.escape(links.site())}[^)]*)\)", text):
            address, _, anchor = link.partition("#")
            if address not in there or (anchor and anchor not in there[address].anchors):
                broken.append(f"{path.name}: {link}")
        for sibling in re.findall(r"\(([\w-]+\.ipynb)\)", text):
            broken += [] if (plain.FOLDER / sibling).exists() else [f"{path.name}: {sibling}"]
    assert broken == []


def test_what_a_page_offers_to_save_is_the_plain_notebook():
    saved = {path.name: path.read_bytes() for path in SITE.glob("_sources/**/*.ipynb")}
    assert saved == {path.name: path.read_bytes() for path in plain.FOLDER.glob("*.ipynb")}
    assert saved.keys() == {path.name for path in notebooks()}


def test_every_image_of_the_text_has_an_alt_text_that_says_something(pages):
    poor = []
    for page in pages.values():
        for image in page.soup.find_all("img"):
            alt = image.get("alt", "").strip()
            in_text = image.find_parent("article") is not None
            # Logos of the frame (the book's, Colab's) may be short; pictures of the text not.
            if len(alt.split()) < (3 if in_text else 2) or is_file_name(alt):
                poor.append(f"{page.name}: {image.get('src')} has alt {alt!r}")
    assert poor == []


def is_file_name(alt: str) -> bool:
    return (
        alt.startswith("_images") or re.fullmatch(r"\S+\.(png|svg|jpe?g|gif)", alt) is not None
    )


def repository_links(page: Page, address: str) -> list[str]:
    """Return the files of the repository that a page's Colab, edit and source links name."""
    owner = address.removeprefix("https://github.com/")
    colab = rf"https://colab\.research\.google\.com/github/{re.escape(owner)}"
    pattern = rf"(?:{colab}|{re.escape(address)})/(?:blob|edit|raw|tree)/main/([^#?]+)"
    return [found[1] for link in page.links if (found := re.match(pattern, link))]


def test_every_link_to_colab_or_the_source_names_a_tracked_file(pages):
    address = project()["address"]
    named = {file for page in pages.values() for file in repository_links(page, address)}
    assert any(file.endswith(".ipynb") for file in named)
    assert sorted(f for f in named if not (ROOT / f).exists()) == []
    if (ROOT / ".git").exists() and shutil.which("git"):
        tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
        assert sorted(named - set(tracked)) == []


def test_every_notebook_page_can_be_opened_in_colab(pages):
    without = [
        page.name
        for page in pages.values()
        if page.name.startswith("notebooks/")
        and plain.colab(page.name.removeprefix("notebooks/").removesuffix(".html"))
        not in page.links
    ]
    assert without == []


def test_no_link_opens_a_source_with_its_markup_in_colab(pages):
    opened = {link for page in pages.values() for link in page.links if plain.COLAB in link}
    assert opened == {plain.colab(path.stem) for path in notebooks()}
