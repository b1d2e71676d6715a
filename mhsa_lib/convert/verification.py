"""Source and result run once on the same random input, and compared.

What a forward does, only the forward can say: a wrong number of heads, another scale, a missing
norm, the other pairing of rotary features and a patched method all show as a difference.

What one short pass cannot show is read from the configuration instead: the rate of dropout, and
rotary scaling that begins behind the probe's length. Windows are masks, which neither the
source nor the result holds; give ours the one that the model makes.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from mhsa_lib import copying, masks
from mhsa_lib.convert.source import KERNELS, Source
from mhsa_lib.tracing.wires import trace

Run = Callable[[Any, Tensor, Tensor, Tensor | None], Tensor]
"""(source, x, context, allowed or None) to y; allowed is boolean, (batch, 1, query, key)."""
Attention = TypeVar("Attention", bound=nn.Module)

LENGTH = 24
"""Tokens of the probe, if the source takes as many."""

TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-5}
"""Largest difference, in parts of the largest output.

A product of 4,096 numbers in float32 is off by about √4096 · 6e-8 = 4e-6 of its size. Four of
them follow each other, and an error of a score of size 10 counts tenfold in the exponent: 1e-4.
In float64 only what sources compute in float32 all the same is left: rotation angles, norms and
the softmax, at 6e-8 times a score of 10, with a margin: 1e-5. Half precision is compared after
widening to float32, which changes no number, so that rounding hides nothing.
"""
_FIX = (
    "restore what was replaced in the source, or pass verify=False and compare the results "
    "yourself: a forward of another version of the library, adapters (merge them), a patched "
    "method or attention function"
)


def converted(
    source: Source,
    build: Callable[[Source], Attention],
    run: Run,
    *,
    inputs: Collection[str],
    verify: bool,
    length: int = LENGTH,
) -> Attention:
    """Return what ``build`` makes of a source, compared with it if ``verify``.

    The result is in the source's mode. Random numbers are drawn apart, and the source is run as
    a copy: its mode, gradients, hooks and buffers, and the generators of the process stay as
    they are. ``inputs`` says what the source takes: "x" alone, "context", or "causal" where its
    model always hides the future. Raises ``ValueError`` if the two differ.
    """
    devices = {p.device for p in source.module.parameters() if p.device.type == "cuda"}
    with torch.random.fork_rng([*devices]):
        try:
            ours = build(source)
        except AttributeError as error:
            raise ValueError(f"{error}, so {source.name} {source.action}; {_FIX}.") from error
        source.nothing_left()
        if verify:
            _compare(source, ours, run, inputs, length)
    return ours.train(source.module.training)


@torch.no_grad()
def _compare(source: Source, ours: nn.Module, run: Run, inputs: Any, length: int) -> None:
    parameter = next(ours.parameters())
    if any(p.is_meta for p in source.module.parameters()):
        raise ValueError(
            f"weights of {source.name} are on meta, so there is nothing to compare; load them "
            f"first (accelerate: remove_hook_from_module), or pass verify=False."
        )
    dtype = torch.promote_types(parameter.dtype, torch.float32)
    try:
        theirs, ours = (copying.copied(m).to(dtype) for m in (source.module, ours))
    except RuntimeError as error:  # it keeps a tensor that is part of a graph
        raise ValueError(f"{source.name} cannot be copied ({error}); {_FIX}.") from error
    config: Any = getattr(getattr(theirs, "self", theirs), "config", None)
    if getattr(config, "_attn_implementation", None) in KERNELS:
        config._attn_implementation = "eager"
    for module in (*theirs.modules(), *ours.modules()):
        # Rates are attributes as well as layers: nn.MultiheadAttention, LlamaAttention.
        for name in {"p", "dropout", "attention_dropout"} & vars(module).keys():
            if isinstance(getattr(module, name), float):
                setattr(module, name, 0.0)
    with _exact(parameter.device):
        cases = [*_cases(ours, inputs, length)]
        # Dropout is off, so training must make no difference; one case is enough to see it.
        for training, some in ((False, cases), (True, cases[:1])):
            theirs.train(training), ours.train(training)
            mode = "training" if training else "evaluation"
            for name, *case in some:
                compared = f"{name}, in {mode} mode with dropout off"
                _compare_case(source.name, theirs, ours, run, compared, *case)


@contextmanager
def _exact(device: torch.device) -> Iterator[None]:
    """Leave out autocast and TF32, whose rounding (1e-3) would look like another function."""
    before = torch.get_float32_matmul_precision()
    with torch.autocast(device.type, enabled=False):
        try:
            torch.set_float32_matmul_precision("highest")
            yield
        finally:
            torch.set_float32_matmul_precision(before)


def _compare_case(
    name: str,
    theirs: Any,
    ours: Any,
    run: Run,
    case: str,
    x: Tensor,
    context: Tensor,
    mask: Any,
) -> None:
    allowed = None if mask is None else mask.dense(x.shape[-2], context.shape[-2]).to(x.device)
    if allowed is not None:
        allowed = allowed.expand(len(x), 1, *allowed.shape[-2:])
    try:
        expected = run(theirs, x, context, allowed)
        far = (ours(x, None if context is x else context, mask=mask) - expected).abs()
    except Exception as error:  # whatever a forward that we do not know may raise
        raise ValueError(
            f"{name} could not be compared with its conversion: it ended in "
            f"{type(error).__name__} ({error}); {_FIX}."
        ) from error
    largest, bound = far.max(), TOLERANCE[x.dtype] * expected.abs().max()
    if not largest <= bound:  # NaN is a difference too
        at = tuple(int(i) for i in torch.unravel_index(far.argmax(), far.shape))
        raise ValueError(
            f"{name} and its conversion differ by {largest:.2g} at (batch, token, feature) = "
            f"{at}, where outputs are up to {expected.abs().max():.2g} and {bound:.1g} is "
            f"allowed; compared was {case}. {_FIX[0].upper()}{_FIX[1:]}."
        )


def _cases(
    ours: Any, inputs: Collection[str], n: int
) -> Iterator[tuple[str, Tensor, Tensor, Any]]:
    """Yield what is compared: a name, x, context (x itself for self-attention) and mask."""
    like, generator = next(ours.parameters()), torch.Generator().manual_seed(0)
    x, context = (
        torch.randn(2, length, width, generator=generator, dtype=torch.float64, device="cpu")
        for length, width in ((n, ours.d_model), (n + 1, ours.d_context))
    )
    x, context = x.to(like), context.to(like)
    with trace(ours) as wires:
        ours(x, context if "context" in inputs else x)
    # Fresh weights give scores near 0, where a wrong scale or cap moves next to nothing. So one
    # input is scaled to scores of size 3, and one is left alone, where eps of a norm counts.
    far = x * (3 / wires["scores"].std().clamp(min=1e-6)).sqrt().clamp(1, 100)
    padded = masks.key_padding([n, max(1, n - 5)])
    if "causal" in inputs:
        yield "self-attention under a causal mask", far, far, masks.causal
        yield "self-attention under a causal and a padding mask", x, x, masks.causal & padded
    if "x" in inputs and ours.d_context == ours.d_model:
        yield "self-attention without a mask", far, far, None
        yield "self-attention under a padding mask", x, x, padded
    if "context" in inputs:
        longer = masks.key_padding([n + 1, max(1, n - 5)])
        yield "cross-attention under a padding mask", far, context, longer


def additive(allowed: Tensor | None, dtype: torch.dtype) -> Any:
    """Return a mask as these models add it to the scores: 0, or the lowest number.

    >>> additive(torch.tensor([[True, False]]), torch.float16).tolist()
    [[0.0, -65504.0]]
    """
    if allowed is None:
        return None
    lowest = torch.finfo(dtype).min
    return torch.zeros_like(allowed, dtype=dtype).masked_fill(~allowed, lowest)
