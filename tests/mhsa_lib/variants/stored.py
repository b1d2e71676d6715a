"""What the authors' own code gave: cases of ``reference/NAME.json``, by name."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

REFERENCE = Path(__file__).with_name("reference")


def stored_cases(name: str) -> dict[str, dict[str, Any]]:
    """All cases of a variant: settings, weights, inputs and outputs."""
    cases = json.loads((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return {case["name"]: case for case in cases}


def numbers(values: Any) -> Tensor:
    """A stored list, in float64."""
    return torch.tensor(values, dtype=torch.float64)
