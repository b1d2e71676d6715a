"""Watch a forward pass from outside, without a change to the code of the pass.

``trace`` puts forward hooks on the stages (``hooks``) and removes them on exit. Results are bit
for bit those without the compiler. (Under ``torch.inference_mode`` PyTorch may add in another
order while it is watched, so the last digit can differ.)
"""

from collections import UserDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from inspect import signature
from typing import Any

from torch import Tensor, nn

from mhsa_lib import shapes
from mhsa_lib.stages import Stage, stages_of
from mhsa_lib.tracing import drawing
from mhsa_lib.tracing.drawing import Step
from mhsa_lib.tracing.find import the_attention
from mhsa_lib.tracing.hooks import Hooks, watching
from mhsa_lib.tracing.op_recorder import OpRecorder, Ops, ledger, storage


class Wires(UserDict[str, Tensor]):
    """The named tensors of one forward pass, in order of computation; it draws itself.

    ``steps`` holds a ``Step`` for every wire, ``inputs`` the tensors that the pass was given.
    Removing a wire removes its step as well.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.steps: dict[str, Step] = {}
        self.inputs: dict[str, Tensor] = {}

    def __missing__(self, wire: str) -> Tensor:
        have = ", ".join(self) or "none yet: run a forward pass inside the with block"
        raise KeyError(f"no wire {wire!r} in {self.name}; it has {have}.")

    def __delitem__(self, wire: str) -> None:
        super().__delitem__(wire)
        # A new dict, because a shallow copy of this trace has the old one.
        self.steps = {name: step for name, step in self.steps.items() if name != wire}

    def __or__(self, other: Any) -> Any:
        return self.data | dict(other)

    @property
    def sizes(self) -> dict[str, int | tuple[int, ...]]:
        """The size of every axis by its name; raises ``ValueError`` where wires disagree."""
        known: dict[str, int | tuple[int, ...]] = {}
        for step in self.steps.values():
            for axis, size in step.axes.items():
                if known.setdefault(axis, size) != size:
                    raise ValueError(
                        f"axis {axis!r} is {size} in wire {step.wire!r} "
                        f"but {known[axis]} before it."
                    )
        return known

    @property
    def flops(self) -> int:
        """FLOPs of all matrix products of the pass; a multiply-add counts as 2."""
        return sum(step.flops for step in self.steps.values())

    def table(self) -> str:
        """Return one line per wire: its axes, strides, bytes and FLOPs."""
        rows = [
            (wire, ", ".join(f"{axis} {size}" for axis, size in step.axes.items()), step)
            for wire, step in self.steps.items()
        ]
        return ledger(("wire", "axes"), rows)

    __repr__ = table

    def _repr_html_(self) -> str:
        maps = drawing.maps(self["weights"]) if "weights" in self else ""
        return drawing.table(self.name, list(self.steps.values())) + maps

    def _record(self, wire: str, alias: Any, value: Tensor, flops: int) -> None:
        # A view of anything that was there before needs no new memory.
        before = {storage(tensor) for tensor in [*self.inputs.values(), *self.values()]}
        result = "view" if storage(value) in before else "copy"
        shape = tuple(value.shape)
        axes = shapes.sizes(alias, shape)
        self._rename_new_keys(axes.get("key", 0))
        self[wire] = value
        sizes = shape, value.stride(), result, value.nbytes, flops
        self.steps[wire] = Step(wire, axes, *sizes)

    def _rename_new_keys(self, n_key: Any) -> None:
        # A cache added the keys of earlier calls: wires before it hold those of this call.
        for wire, step in self.steps.items():
            if "query" not in step.axes and step.axes.get("key", n_key) < n_key:
                axes = {"new_key" if a == "key" else a: n for a, n in step.axes.items()}
                self.steps[wire] = replace(step, axes=axes)


@contextmanager
def trace(model: nn.Module) -> Iterator[Wires]:
    """Collect the named wires of the attention in ``model`` while the block runs.

    A second forward pass in the block replaces the first. Tensors keep the graph of their
    gradients. Only passes of this thread are seen, and compiled modules run uncompiled
    (``hooks.Hooks``). Raises ``ValueError`` if ``model`` has no attention of ours, or several;
    then the message lists the paths to choose from.

    >>> from mhsa_lib import MultiHeadAttention
    >>> import torch
    >>> mha = MultiHeadAttention(12, 3)
    >>> with trace(mha) as wires:
    ...     y = mha(torch.zeros(2, 6, 12))
    >>> list(wires)
    ['q', 'k', 'v', 'q_heads', 'k_heads', 'v_heads', 'scores', 'weights', 'z', 'concat', 'y']
    >>> wires["weights"].shape, wires.steps["q_heads"].result, wires.steps["concat"].result
    (torch.Size([2, 3, 6, 6]), 'view', 'copy')
    """
    attention = the_attention(model)
    wires = Wires(type(attention).__name__)
    # The recorder is on from the start of a pass to its end, and keeps no tensor after it.
    recorder, recording = OpRecorder(), ExitStack()
    stages = [stage for stage in stages_of(attention).values() if stage.wires]

    @watching
    def stop(*_: Any) -> None:
        recorder.forget()
        recording.close()

    @watching
    def begin(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = signature(module.forward).bind(*args, **kwargs).arguments
        wires.clear()
        wires.inputs = {name: t for name, t in given.items() if isinstance(t, Tensor)}
        stop()
        recording.enter_context(recorder)

    @watching
    def record(stage: Stage, args: tuple[Any, ...], output: Any) -> None:
        values = stage.named(output)
        groups = _by_output(recorder, list(values.values()))
        for (wire, value), ops in zip(values.items(), groups, strict=True):
            wires._record(wire, stage.wires[wire], value, ops.flops)
        recorder.forget()

    with Hooks(model) as hooks:
        hooks.before(attention, begin)
        for stage in stages:
            hooks.after(stage, record)
        hooks.after(attention, stop, always=True)
        try:
            yield wires
        finally:
            stop()


def _by_output(recorder: OpRecorder, values: list[Tensor]) -> list[Ops]:
    """Return the operations since the last wire, divided by the output that they lead to."""
    made = [storage(tensor) for tensor in recorder.outputs]
    groups, start = [], 0
    for value in values:
        last = [i for i, memory in enumerate(made) if memory == storage(value)]
        end = max(last[-1] + 1, start) if last else start
        groups.append(Ops(recorder.ops[start:end]))
        start = end
    # What ran after the last output, such as a copy of it, belongs to the last wire.
    groups[-1].extend(recorder.ops[start:])
    return groups
