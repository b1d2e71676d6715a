"""What chapter 25 defines, executed: its figure is compared with the chapter's own classes."""

import json
from functools import cache
from pathlib import Path
from typing import Any

CHAPTER = Path(__file__).parents[3] / "notebooks" / "25_where_it_goes_next.ipynb"
CLASSES = "NormedSplit", "SigmoidAttend", "DifferentialAttend"
IMPORTS = """
import torch
from torch import nn
from torch.nn.functional import rms_norm
from mhsa_lib import MultiHeadAttention, functional as F, masks, trace
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Tokens, Values, Weights
from mhsa_lib.stages import Attend, Split
"""


@cache
def defined() -> dict[str, Any]:
    """The classes of the chapter by name: NormedSplit, SigmoidAttend, DifferentialAttend."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    found: dict[str, Any] = {}
    exec(IMPORTS, found)
    for cell in cells:
        code = "".join(cell["source"])
        if cell["cell_type"] == "code" and any(f"class {name}(" in code for name in CLASSES):
            exec(code, found)
    return found
