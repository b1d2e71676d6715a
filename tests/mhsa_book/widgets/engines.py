"""An engine of the pages in node: started once, asked in lines."""

import base64
import json
import shutil
import subprocess

import numpy as np
import torch

from tests.helpers.needs import missing


class Engine:
    """A script that answers every JSON line with one."""

    def __init__(self, *script) -> None:
        found = shutil.which("node") or missing("no node on this machine")
        self.process = subprocess.Popen(
            [found, "--no-warnings", *script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, *question):
        self.process.stdin.write(f"{json.dumps(question)}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def floats(text: str) -> torch.Tensor:
    """Numbers of 32 bits that came in base64."""
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), dtype="<f4").copy())


def lay_beside(page_folder, assets) -> None:
    """Put a folder of assets where a page looks for it."""
    (page_folder / "vendor").mkdir()
    (page_folder / "vendor" / "assets").symlink_to(assets, target_is_directory=True)
