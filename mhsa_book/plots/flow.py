"""Where the wires of a trace stand in a picture of what is made of what."""

from dataclasses import dataclass, replace

from torch import Tensor

from mhsa_lib.tracing.drawing import Step
from mhsa_lib.tracing.wires import Wires

INPUT_AXES = {"x": ("query", "d_model"), "context": ("key", "d_context")}
"""The last axes of what an attention is given; a mask is left out of the picture."""


@dataclass
class Flow:
    """The wires and what they start from, each with a column and a lane, from 0.

    ``sources`` of a step are those that the trace saw, as far as they are drawn.
    """

    steps: dict[str, Step]
    column: dict[str, int]
    lane: dict[str, float]

    @classmethod
    def of(cls, wires: Wires) -> "Flow":
        """Wires stand one column right of the last that they are made of.

        >>> import torch
        >>> from mhsa_lib import MultiHeadAttention, trace
        >>> mha = MultiHeadAttention(12, 3)
        >>> with trace(mha) as wires:
        ...     y = mha(torch.zeros(6, 12))
        >>> flow = Flow.of(wires)
        >>> flow.steps["z"].sources, flow.column["z"], flow.lane["q"], flow.lane["x"]
        (('v_heads', 'weights'), 5, 0.0, 1.0)
        """
        used = {source for step in wires.steps.values() for source in step.sources}
        steps = {
            name: _as_step(name, tensor)
            for name, tensor in wires.inputs.items()
            if name in INPUT_AXES and name in used
        } | wires.steps
        column: dict[str, int] = {}
        for name, step in steps.items():
            sources = tuple(source for source in step.sources if source in steps)
            steps[name] = replace(step, sources=sources)
            column[name] = 1 + max((column[source] for source in sources), default=-1)
        return cls(steps, column, _lanes(steps, column))

    @property
    def height(self) -> float:
        """How many lanes there are."""
        return 1 + max(self.lane.values())


def _as_step(name: str, tensor: Tensor) -> Step:
    axes: dict[str, int | tuple[int, ...]] = dict(
        zip(INPUT_AXES[name], tensor.shape[-2:], strict=True)
    )
    if batch := tuple(tensor.shape[:-2]):
        axes = {"batch": batch if len(batch) > 1 else batch[0], **axes}
    return Step(name, tuple(tensor.shape), tensor.stride(), "input", tensor.nbytes, 0, axes)


def _lanes(steps: dict[str, Step], column: dict[str, int]) -> dict[str, float]:
    """Near the middle of what a wire is made of, in half lanes; one below another."""
    lane: dict[str, float] = {}
    for at in range(1 + max(column.values())):
        names = [name for name in steps if column[name] == at]
        wanted = {
            name: _mean([lane[source] for source in steps[name].sources]) for name in names
        }
        names.sort(key=lambda name: wanted[name])  # equal ones stay in the order of the trace
        middle = round(2 * _mean([*wanted.values()])) / 2
        for i, name in enumerate(names):
            lane[name] = middle + i - (len(names) - 1) / 2
    first = min(lane.values())
    return {name: at - first for name, at in lane.items()}


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0
