"""JupyterLab: a server of its own, and a notebook that is open in it."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

from tests.helpers.needs import missing

WAIT = 60_000  # milliseconds; a kernel that imports torch on a busy machine takes its time


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, Path]]:
    """Serve a folder by a Jupyter server of its own; yield its address and the folder."""
    if shutil.which("jupyter-lab", path=os.path.dirname(sys.executable)) is None:
        missing("no JupyterLab beside this Python: the figures met no kernel")
    settings = ["JUPYTER_CONFIG_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR"]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0"]
    command += ["--IdentityProvider.token=", f"--notebook-dir={folder}"]
    command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    command += ["--LabApp.expose_app_in_browser=True"]  # for commands of the menus
    env = {**os.environ, "OMP_NUM_THREADS": "1"} | {name: str(folder) for name in settings}
    log = folder / "server.log"
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(command, env=env, stderr=file) as process,
    ):
        try:
            yield address(log, process), folder
        finally:
            process.terminate()


def address(log: Path, process: subprocess.Popen) -> str:
    """Wait until the server has written where it listens."""
    for _ in range(120):
        if found := re.search(
            r"(http://(?:localhost|127\.0\.0\.1):\d+)/lab", log.read_text(encoding="utf-8")
        ):
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.5)
    return pytest.fail(log.read_text(encoding="utf-8"))


class Notebook:
    """A notebook open in JupyterLab."""

    def __init__(self, server, chromium, name: str, cells: list[str]) -> None:
        address, folder = server
        nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        nb.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
        nbformat.write(nb, folder / f"{name}.ipynb")
        self.page = chromium.new_page(viewport={"width": 1280, "height": 1800})
        self.page.goto(f"{address}/doc/tree/{name}.ipynb")
        self.cells = self.page.locator(".jp-CodeCell")
        expect(self.cells).to_have_count(len(cells), timeout=WAIT)
        idle = self.page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']")
        expect(idle).to_be_attached(timeout=WAIT)  # the kernel is there and takes orders

    def run(self, position: int):
        """Run one cell and return where its output is.

        JupyterLab forgets an order that comes while it is still connecting: it is repeated
        until the cell waits for the kernel, and only until then.
        """
        cell = self.cells.nth(position)
        prompt = cell.locator(".jp-InputPrompt")
        for _ in range(10):
            cell.locator(".cm-content").click()
            self.page.keyboard.press("Control+Enter")
            try:
                expect(prompt).not_to_have_text("[ ]:", timeout=1000)
                break
            except AssertionError:
                continue
        expect(prompt).to_have_text(re.compile(r"\[\d+\]"), timeout=WAIT)
        return cell.locator(".jp-OutputArea-output").first
