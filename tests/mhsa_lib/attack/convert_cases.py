"""Everything that converts: the same function as the source, or an error that says why not."""

import torch
from torch import nn

from tests.mhsa_lib.attack import (
    bert_sources,
    gpt2_sources,
    mutations,
    own_sources,
    rotary_sources,
    sources,
)
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.outcome import CLEAR, Finding, Skipped, close, same

SOURCES = {
    "torch": (sources.of_torch, 3),
    "bert": (bert_sources.of_bert, 3),
    "gpt2": (gpt2_sources.of_gpt2, 2),
    "llama": (rotary_sources.of_llama, 2),
    "deepseek": (rotary_sources.of_deepseek, 1),
    "ours": (own_sources.of_ours, 6),
}


def case(draw: Draw) -> None:
    kind = draw.random.choices(list(SOURCES), [weight for _, weight in SOURCES.values()])[0]
    source = SOURCES[kind][0](draw)
    done = [draw.one(mutations.MUTATIONS)] if draw.chance(0.8) else []
    done += [draw.one(mutations.MUTATIONS)] if draw.chance(0.1) else []
    said = "+".join(m.__name__ for m in done if m is not mutations.nothing)
    by = source.name if kind == "ours" else f"from_{kind}"
    draw.note(way=f"{by}, {said}" if said else f"{by} of {source.name}", of=source.name)
    try:
        draw.note(did=[mutate(draw, source.module) for mutate in done])
    except Exception as error:
        raise Skipped("this cannot be done to that module") from error
    _same_function(draw, source)


def _same_function(draw: Draw, source: sources.Source) -> None:
    dtype = next(p.dtype for p in source.module.parameters())
    x = torch.randn(draw.whole(1, 3), draw.length(most=17, empty=False), source.d_model).to(
        dtype
    )
    draw.note(x=tuple(x.shape))
    state = {name: value.clone() for name, value in source.module.state_dict().items()}
    try:
        ours = source.convert()
    except (ValueError, TypeError, KeyError) as error:
        if len(str(error)) < CLEAR:
            raise Finding(f"refused without a reason: {error!r}") from error
        raise
    with torch.no_grad():
        try:
            expected = source.truth(x)
        except Skipped:
            raise
        except Exception as error:
            raise Skipped("the source itself does not run any more") from error
        found = ours(x, mask=source.mask)
    same("dtype of y", found.dtype, expected.dtype)
    size = 1 + expected.abs().amax().item()
    eps = {torch.bfloat16: 0.05, torch.float32: 1e-4}.get(dtype, source.eps)
    if not _random(source.module):
        close("y", found, expected.double(), eps * size)
    _comes_along(source, ours)
    for name, value in source.module.state_dict().items():
        if not torch.equal(value, state[name]):
            raise Finding(f"the conversion changed {name} of the source")


def _random(module: nn.Module) -> bool:
    """Whether dropout acts: then only what comes along is compared."""
    by_module = any(isinstance(m, nn.Dropout) and m.p and m.training for m in module.modules())
    by_number = any(
        m.training and isinstance(getattr(m, name, 0.0), float) and getattr(m, name, 0.0)
        for m in module.modules()
        for name in ("dropout", "attention_dropout")
    )
    return by_module or bool(by_number)


def _comes_along(source: sources.Source, ours: nn.Module) -> None:
    """Training mode, and requires_grad where all of theirs agree."""
    same("training", ours.training, source.module.training)
    theirs = [p.requires_grad for p in source.module.parameters()]
    found = [p.requires_grad for p in ours.parameters()]
    if theirs and not any(theirs) and any(found):
        raise Finding("requires_grad: frozen became trainable")
    if theirs and all(theirs) and not all(found):
        raise Finding("requires_grad: trainable became frozen")
