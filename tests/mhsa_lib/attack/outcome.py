"""A case ends well, is refused by a clear error of ours, or is a finding."""

import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from tests.mhsa_lib.attack.draw import Draw

CLEAR = 20
"""An error of fewer letters explains nothing."""


OF_TORCH = {
    "_scaled_dot_product_flash_attention_for_cpu": "PyTorch's kernel has no such derivative",
    "more than one element of the written-to": "PyTorch takes no expanded dual tensors",
}
"""What PyTorch itself refuses, by a piece of its message."""


class Finding(Exception):  # noqa: N818 - it is what was found
    """Something wrong that no error told."""


class Skipped(Exception):  # noqa: N818 - not an error
    """The case is impossible in torch itself."""


@dataclass
class Outcome:
    """``key`` is alike for cases that fail alike."""

    status: str
    case: str
    key: str = ""
    text: str = ""
    about: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        about = ", ".join(f"{name}={value}" for name, value in self.about.items())
        return f"python -m tests.mhsa_lib.attack --case {self.case}\n  {self.text}\n  {about}"


def judged(kind: str, number: int, case: Callable[[Draw], None]) -> Outcome:
    """Run one case. It notes ``legal=True`` where a refusal is wrong too."""
    draw, name = Draw(kind, number), f"{kind}:{number}"
    try:
        case(draw)
    except Skipped as error:
        return Outcome("skipped", name, f"skipped: {error}")
    except Finding as error:
        return _outcome("FINDING", name, draw, str(error))
    except Exception as error:
        if reason := next((why for text, why in OF_TORCH.items() if text in str(error)), ""):
            return Outcome("skipped", name, f"skipped: {reason}")
        text = f"{type(error).__name__}: {error}"
        ours = isinstance(error, ValueError | TypeError | KeyError) and _last_is_ours(error)
        if ours and len(str(error)) >= CLEAR:
            if not draw.about.get("legal"):
                return _outcome("refused", name, draw, text)
            return _outcome("FINDING", name, draw, f"refused though legal: {text}")
        return _outcome("FINDING", name, draw, f"raised {text} at {_place(error)}")
    return Outcome("ok", name)


def _outcome(status: str, name: str, draw: Draw, text: str) -> Outcome:
    about = {key: f"{value}"[:200] for key, value in draw.about.items() if key != "legal"}
    way = about.get("way", "")
    key = re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", text.splitlines()[0])
    key = re.sub(r"\(#?(, ?#|#,?)*\)|\[#?(, ?#)*\]", "(#)", key)[:150]
    return Outcome(status, name, f"{name.split(':')[0]} | {way} | {key}", text[:600], about)


def _last_is_ours(error: BaseException) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and "/mhsa_lib/" in frames[-1].filename


def _place(error: BaseException) -> str:
    ours = [
        f"{frame.filename.rpartition('/')[2]}:{frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if "/mhsa_lib/" in frame.filename
    ]
    return ours[-1] if ours else "outside of the library"


def close(what: str, found: Tensor, expected: Tensor, allowed: Tensor | float) -> None:
    """``found`` equals ``expected`` (float64) within ``allowed``, number by number."""
    allowed = torch.as_tensor(allowed, dtype=torch.float64).expand(expected.shape)
    if not isinstance(found, Tensor):
        raise Finding(f"{what}: found {type(found).__name__}, not a tensor")
    if found.shape != expected.shape:
        raise Finding(f"{what}: shape {tuple(found.shape)}, not {tuple(expected.shape)}")
    found = found.detach().double()
    wrong = ~((found - expected).abs() <= allowed)
    # beyond what the dtype can hold both may be infinite
    wrong &= ~(allowed.isinf() | allowed.isnan())
    if wrong.any():
        difference = (found - expected).abs().nan_to_num(torch.inf)
        worst = (difference / allowed.clamp(min=1e-300)).masked_fill(~wrong, -1).argmax()
        f, e = (t.flatten()[worst].item() for t in (found, expected))
        raise Finding(
            f"{what}: wrong by {abs(f - e):.2g}, allowed {allowed.flatten()[worst].item():.2g} "
            f"(found {f:.4g}, expected {e:.4g}; {int(wrong.sum())} of {wrong.numel()})"
        )


def same(what: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise Finding(f"{what}: {found}, not {expected}")


def identical(what: str, found: Tensor, expected: Tensor) -> None:
    """Bit for bit, NaN included."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise Finding(f"{what}: another shape or dtype")
    if not torch.equal(found.nan_to_num(77.0), expected.nan_to_num(77.0)):
        raise Finding(f"{what}: not bit for bit the same")
