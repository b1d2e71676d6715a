"""Collect the wires of a forward pass from outside, without a change to its code."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from inspect import signature
from typing import Any

from torch import Tensor, nn

from mhsa_lib import checks, shapes
from mhsa_lib.stages import Stage, stages_of
from mhsa_lib.tracing import drawing
from mhsa_lib.tracing.drawing import Step
from mhsa_lib.tracing.find import find_attentions
from mhsa_lib.tracing.hooks import Hooks, watching
from mhsa_lib.tracing.op_recorder import OpRecorder, ledger, storage


class Wires(dict[str, Tensor]):
    """The named tensors of one forward pass, in order of computation; it draws itself.

    ``inputs`` holds the tensors that the pass was given.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.inputs: dict[str, Tensor] = {}
        self._steps: dict[str, Step] = {}

    def __missing__(self, wire: str) -> Tensor:
        have = ", ".join(self) or "none yet: run a forward pass inside the with block"
        raise KeyError(f"no wire {wire!r} in {self.name}; it has {have}.")

    @property
    def steps(self) -> dict[str, Step]:
        """How each wire was computed; a wire that was removed has no step."""
        return {wire: step for wire, step in self._steps.items() if wire in self}

    @property
    def sizes(self) -> dict[str, int | tuple[int, ...]]:
        """The size of every axis by its name; raises ``ValueError`` where wires disagree."""
        known: dict[str, int | tuple[int, ...]] = {}
        for step in self.steps.values():
            for axis, size in step.axes.items():
                if known.setdefault(axis, size) != size:
                    raise ValueError(
                        f"axis {axis!r} is {size} in wire {step.name!r} "
                        f"but {known[axis]} before it."
                    )
        return known

    @property
    def flops(self) -> int:
        """FLOPs of all matrix products of the pass; a multiply-add counts as 2."""
        return sum(step.flops for step in self.steps.values())

    def __repr__(self) -> str:
        rows = [
            (wire, ", ".join(f"{axis} {size}" for axis, size in step.axes.items()), step)
            for wire, step in self.steps.items()
        ]
        return ledger(("wire", "axes"), rows)

    def _repr_html_(self) -> str:
        maps = drawing.maps(self["weights"]) if "weights" in self else ""
        return drawing.table(self.name, list(self.steps.values())) + maps

    def _record(
        self, wire: str, alias: Any, value: Tensor, flops: int, made_from: set[str]
    ) -> None:
        # A view of anything that was there before needs no new memory.
        before = {storage(tensor) for tensor in [*self.inputs.values(), *self.values()]}
        result = "view" if storage(value) in before else "new memory"
        axes = shapes.sizes(alias, tuple(value.shape))
        sizes = tuple(value.shape), value.stride(), result, value.nbytes, flops
        n_key = axes.get("key", 0)
        # A new dict, because a shallow copy of this trace has the old one.
        self._steps = {name: _of_this_call(step, n_key) for name, step in self.steps.items()}
        sources = tuple(name for name in [*self.inputs, *self] if name in made_from)
        self._steps[wire] = Step(wire, *sizes, axes, sources)
        self[wire] = value


def _of_this_call(step: Step, n_key: Any) -> Step:
    """Where a cache has added keys of earlier calls, call the axis of the others new_key."""
    if "query" in step.axes or step.axes.get("key", n_key) >= n_key:
        return step
    axes = {"new_key" if axis == "key" else axis: size for axis, size in step.axes.items()}
    return replace(step, axes=axes)


class WiresByPath(dict[str, Wires]):
    """The wires of every attention in a model, by its path."""

    def __missing__(self, path: str) -> Wires:
        raise KeyError(f"no attention at {path!r}; there are some at {checks.few([*self])}.")

    def __repr__(self) -> str:
        return "\n".join(
            f"{path}: {each.name}, {len(each)} wires" for path, each in self.items()
        )


@contextmanager
def trace(model: nn.Module) -> Iterator[Any]:
    """Collect the named wires of the attention in ``model`` while the block runs.

    If the model holds several attentions, there are ``Wires`` for each of them, by its path:
    ``wires["layers.3.attention"]["weights"]``. A second forward pass in the block replaces the
    first. Tensors keep the graph of their gradients. Only passes of this thread are seen, and
    compiled modules run uncompiled (``hooks.Hooks``). Results are bit for bit those without the
    block, except that under ``torch.inference_mode`` PyTorch may add in another order while it
    is watched. Raises ``ValueError`` if ``model`` has no attention of ours.

    >>> from mhsa_lib import MultiHeadAttention
    >>> import torch
    >>> mha = MultiHeadAttention(12, 3)
    >>> with trace(mha) as wires:
    ...     y = mha(torch.zeros(2, 6, 12))
    >>> list(wires)
    ['q', 'k', 'v', 'q_heads', 'k_heads', 'v_heads', 'scores', 'weights', 'z', 'concat', 'y']
    >>> wires["weights"].shape, wires.steps["q_heads"].result, wires.steps["concat"].result
    (torch.Size([2, 3, 6, 6]), 'view', 'new memory')
    """
    attentions = find_attentions(model)
    found = WiresByPath({path: Wires(type(m).__name__) for path, m in attentions.items()})

    @watching
    def forget(*_: Any) -> None:
        # Of what this pass of the model leaves out, nothing of an earlier one may stay.
        for wires in found.values():
            wires.clear()
            wires.inputs = {}

    with ExitStack() as at_the_end, Hooks(model) as hooks:
        hooks.before(model, forget)
        for path, attention in attentions.items():
            at_the_end.callback(_watch(hooks, attention, found[path]))
        yield found if len(found) > 1 else next(iter(found.values()))


def _watch(hooks: Hooks, attention: Stage, wires: Wires) -> Callable[[], None]:
    """Record the wires of an attention in every pass; return what ends the recording of one."""
    # The recorder is on from the start of a pass to its end, and keeps no tensor after it.
    recorder, recording = OpRecorder(), ExitStack()

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
        recorder.made_from = {storage(t): {name} for name, t in reversed(wires.inputs.items())}
        recording.enter_context(recorder)

    @watching
    def record(stage: Stage, args: tuple[Any, ...], output: Any) -> None:
        values = stage.named(output)
        flops = _flops_by_output(recorder, list(values.values()))
        made_from = [recorder.made_from.get(storage(value), set()) for value in values.values()]
        made = zip(values.items(), flops, made_from, strict=True)
        for (wire, value), spent, sources in made:
            wires._record(wire, stage.wires[wire], value, spent, sources)
            recorder.made_from[storage(value)] = {wire}
        recorder.forget()

    hooks.before(attention, begin)
    for stage in stages_of(attention).values():
        if stage.wires:
            hooks.after(stage, record)
    hooks.after(attention, stop, always=True)
    return stop


def _flops_by_output(recorder: OpRecorder, values: list[Tensor]) -> list[int]:
    """Return the FLOPs since the last wire, divided by the output that they lead to."""
    made = [storage(tensor) for tensor in recorder.outputs]
    last = [
        max((i for i, memory in enumerate(made) if memory == storage(value)), default=-1)
        for value in values
    ]
    flops = [0] * len(values)
    for i, op in enumerate(recorder.ops):
        # What ran after the last output, such as a copy of it, belongs to the last wire.
        leads_to = next((n for n, end in enumerate(last) if i <= end), -1)
        flops[leads_to] += op.flops
    return flops
