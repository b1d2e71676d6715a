"""The plain notebooks in JupyterLab: they read well, and all cells run without an error."""

import json

import nbformat
import pytest
from playwright.sync_api import expect

from tests.helpers.lab import WAIT, serving
from tools.build import plain
from tools.build.notebooks import notebooks

pytest.importorskip("jupyterlab")

ALWAYS = {"01_from_averages_to_attention"}
"""A chapter that begins; the others, which need up to two minutes each, are slow."""

MARKUP = (":::", "{doc}", "{ref}", "{term}", "{cite", ")=", "{admonition}", "{exercise")
SETTINGS = "@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
RUN_ALL = """async () => {
  const panel = jupyterapp.shell.currentWidget;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info; // it answers: no order is forgotten
  await jupyterapp.commands.execute("notebook:run-all-cells");
  return panel.content.model.sharedModel.cells.map((c) => c.toJSON());
}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory, chromium):
    folder = tmp_path_factory.mktemp("plain")
    settings = folder / SETTINGS
    settings.parent.mkdir(parents=True)
    every_cell = json.dumps({"windowingMode": "none"})  # not only those in sight
    settings.write_text(every_cell, encoding="utf-8")
    with serving(folder) as address_and_folder:
        yield chromium, *address_and_folder


def without_outputs(path):
    nb = plain.edition(nbformat.read(path, as_version=4), path.stem)
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return nb


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem in ALWAYS else pytest.mark.slow)
        for path in notebooks()
    ],
)
def test_a_plain_notebook_reads_well_and_runs_whole(lab, path):
    browser, address, folder = lab
    nb = without_outputs(path)
    nbformat.write(nb, folder / path.name)
    page = browser.new_page(viewport={"width": 1280, "height": 1600})
    page.goto(f"{address}/doc/tree/{path.name}")
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    cells = page.locator(".jp-CodeCell")
    expect(cells).to_have_count(len(code), timeout=WAIT)
    idle = page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']")
    expect(idle).to_be_attached(timeout=WAIT)

    shown = page.locator(".jp-MarkdownOutput").all_inner_texts()
    assert len(shown) == len(nb.cells) - len(code)
    assert [text for text in shown if any(markup in text for markup in MARKUP)] == []
    folded = sum("jupyter" in cell.metadata for cell in code)
    expect(page.locator(".jp-CodeCell .jp-InputCollapser ~ .jp-Placeholder")).to_have_count(
        folded
    )

    ran = page.evaluate(RUN_ALL)
    assert [cell["id"] for cell in ran if cell.get("execution_count", 0) is None] == []
    outputs = [(cell["id"], out) for cell in ran for out in cell.get("outputs", [])]
    assert [(id, out) for id, out in outputs if out["output_type"] == "error"] == []
    assert len(outputs) >= (len(code) - folded) // 2  # checks are folded, and print nothing
    page.close()
