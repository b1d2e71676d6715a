"""The same numbers, differently in memory."""

import torch
from torch import Tensor

from tests.mhsa_lib.attack.draw import Draw

LAYOUTS = (
    "plain",
    "plain",
    "turned",
    "offset",
    "every second",
    "flipped",
    "expanded",
    "windows",
)


def rows(
    draw: Draw, shape: tuple[int, ...], dtype: torch.dtype, name: str, size: float = 1.0
) -> Tensor:
    """Random rows of this shape, in a layout that is drawn."""
    layout = draw.one(LAYOUTS)
    draw.note(**{name: f"{tuple(shape)} {layout}"})
    *batch, n, width = shape
    make = lambda *s: (size * torch.randn(s)).to(dtype)  # noqa: E731
    if layout == "turned":
        return make(*batch, width, n).mT
    if layout == "offset":
        return make(torch.Size(shape).numel() + 7)[7:].view(shape)
    if layout == "every second":
        return make(*batch, 2 * n, width + 3)[..., ::2, 3:]
    if layout == "flipped":
        return make(*shape).flip(-2)
    if layout == "expanded" and batch:
        return make(*batch[1:], n, width).expand(shape)
    if layout == "windows" and n:
        flat = make(*batch, n + width - 1)
        return flat.unfold(-1, width, 1)
    return make(*shape)
