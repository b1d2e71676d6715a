"""Source and result run once on the same random input, and compared.

What one short pass cannot show is read from the configuration: the rate of dropout, and rotary
scaling that begins behind the probe's length. Windows are masks, which neither of them holds.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from mhsa_lib import copying, masks
from mhsa_lib.convert.source import Source
from mhsa_lib.tracing.wires import trace

Run = Callable[[Any, Tensor, Tensor, Tensor | None], Tensor]
"""(source, x, context, allowed or None) to y; allowed is boolean, (batch, 1, query, key)."""
Attention = TypeVar("Attention", bound=nn.Module)

LENGTH = 24
"""Tokens of the probe."""

TOLERANCE = 1e-5
"""Largest difference, in parts of the largest output.

Both run in float64 on the CPU, whatever they were: widening changes no number, and neither
autocast nor TF32 rounds there. What is left is what sources compute in float32 all the same:
rotation angles, norms and the softmax, at 6e-8 times a score of 10, with a margin.
"""
_FIX = (
    "restore what was replaced in the source, or pass verify=False and compare the results "
    "yourself: a forward of another version of the library, weights on meta (load them), "
    "adapters (merge them), a patched method or attention function"
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
    """Return what ``build`` makes of a source, in its mode, compared with it if ``verify``."""
    try:
        # Every parameter is replaced, so none needs memory or random numbers before.
        with torch.device("meta"):
            ours = build(source)
    except AttributeError as error:
        raise ValueError(f"{error}, so {source.name} {source.action}; {_FIX}.") from error
    source.nothing_left()
    ours.train(source.module.training)
    if verify:
        compare(source.module, ours, run, inputs, length)
    return ours


def compare(
    theirs: nn.Module, ours: nn.Module, run: Run, inputs: Collection[str], length: int = LENGTH
) -> None:
    """Raise ``ValueError`` unless both compute the same on random input.

    ``inputs`` says what they take: "x" alone, "context", or "causal" where the model of theirs
    always hides the future. Copies are run: mode, gradients, hooks and buffers of both, and the
    random numbers of the process, stay as they are.
    """
    name = type(theirs).__name__
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            differences = list(_differences(theirs, ours, run, inputs, length))
    except Exception as error:  # whatever a forward that we do not know may raise
        raise ValueError(
            f"{name} could not be compared with its conversion: it ended in "
            f"{type(error).__name__} ({error}); {_FIX}."
        ) from error
    for case, far, size in differences:
        if not far.max() <= TOLERANCE * size:  # NaN is a difference too
            at = tuple(int(i) for i in torch.unravel_index(far.argmax(), far.shape))
            raise ValueError(
                f"{name} and its conversion differ by {far.max():.2g} at (batch, token, "
                f"feature) = {at}, where outputs are up to {size:.2g} and "
                f"{TOLERANCE * size:.1g} is allowed; compared was {case}. "
                f"{_FIX[0].upper()}{_FIX[1:]}."
            )


def _differences(
    theirs: nn.Module, ours: Any, run: Run, inputs: Collection[str], length: int
) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Yield for every case how far apart the outputs are, and the largest output."""
    theirs, ours = (copying.copied(m).to("cpu", torch.float64) for m in (theirs, ours))
    for module in (*theirs.modules(), *ours.modules()):
        # Rates are attributes as well as layers: nn.MultiheadAttention, LlamaAttention.
        for name in {"p", "dropout", "attention_dropout"} & vars(module).keys():
            if isinstance(getattr(module, name), float):
                setattr(module, name, 0.0)
    cases = _cases(ours, inputs, length)
    # Dropout is off, so training must make no difference; one case is enough to see it.
    for mode, some in {"evaluation": cases, "training": cases[:1]}.items():
        theirs.train(mode == "training"), ours.train(mode == "training")
        for name, x, context, mask in some:
            allowed = None
            if mask is not None:
                allowed = mask.dense(x.shape[-2], context.shape[-2]).to(x.device)
                allowed = allowed.expand(len(x), 1, *allowed.shape[-2:])
            expected = run(theirs, x, context, allowed)
            y = ours(x, None if context is x else context, mask=mask)
            compared = f"{name}, in {mode} mode with dropout off"
            yield compared, (y - expected).abs(), expected.abs().max()


def _cases(ours: Any, inputs: Collection[str], n: int) -> list[tuple[str, Tensor, Tensor, Any]]:
    """Return what is compared: its name, x, context (x itself for self-attention) and mask."""
    generator = torch.Generator().manual_seed(0)
    x, context = (
        torch.randn(2, length, width, generator=generator, dtype=torch.float64, device="cpu")
        for length, width in ((n, ours.d_model), (n + 1, ours.d_context))
    )
    with trace(ours) as wires:
        ours(x, context if "context" in inputs else x)
    # Fresh weights give scores near 0, where a wrong scale or cap moves next to nothing. So one
    # input is scaled to scores of size 3, and one is left alone, where eps of a norm counts.
    far = x * (3 / wires["scores"].std().clamp(min=1e-6)).sqrt().clamp(1, 100)
    padded, longer = (masks.key_padding([length, max(1, n - 5)]) for length in (n, n + 1))
    cases: dict[str, list[Any]] = {
        "causal": [
            ("self-attention under a causal mask", far, far, masks.causal),
            ("self-attention under a causal and a padding mask", x, x, masks.causal & padded),
        ],
        "x": [
            ("self-attention without a mask", far, far, None),
            ("self-attention under a padding mask", x, x, padded),
        ],
        "context": [("cross-attention under a padding mask", far, context, longer)],
    }
    return [case for kind in inputs for case in cases[kind]]


def additive(allowed: Tensor | None, dtype: torch.dtype) -> Any:
    """Return a mask as these models add it to the scores: 0, or the lowest number.

    >>> additive(torch.tensor([[True, False]]), torch.float16).tolist()
    [[0.0, -65504.0]]
    """
    if allowed is None:
        return None
    lowest = torch.finfo(dtype).min
    return torch.zeros_like(allowed, dtype=dtype).masked_fill(~allowed, lowest)
