"""What ``tests/mhsa_lib/parallel/ranks`` lets each of two ranks do, with a file for each rank.

python tests/helpers/on_ranks.py FOLDER      all experiments; the ranks have started already
torchrun … tests/helpers/on_ranks.py FOLDER die  one rank dies before the others heard
"""

import json
import os
import sys
import time
from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path

import torch
from jaxtyping import install_import_hook

# Ranks check shapes; who only imports this file must not find the hook installed.
is_rank = __name__ == "__main__"
with install_import_hook("mhsa_lib", "beartype.beartype") if is_rank else nullcontext():
    from mhsa_book.parallel import comparison
    from mhsa_book.parallel.process_group import process_group
    from mhsa_lib import KVCache, kv_cache, masks, trace
    from mhsa_lib.parallel.tensor_parallel import parallelize
    from tests.helpers.on_ranks_refused import refusals
    from tests.helpers.on_ranks_replaced import cached, replaced
    from tests.helpers.on_ranks_tokens import by_tokens
    from tests.helpers.sharded import CROSSED, KINDS, LATENT, drawn

DEAD = 3  # exit status of a rank that dies


def equal(mesh):
    """Outputs and gradients against one process, for every kind and dtype."""
    found = {}
    for kind in KINDS | LATENT:
        for dtype in comparison.TOLERANCE:
            whole, x = drawn(kind, dtype)
            rank = comparison.compare(whole, parallelize(deepcopy(whole), mesh), x)
            found[f"{kind}, {dtype}"] = rank.differences
    return found


def left_out(mesh):
    """The same with one all-reduce that does nothing."""
    found = {}
    for kind in ("mha", "fused"):
        for when in ("forward", "backward"):
            whole, x = drawn(kind)
            rank = comparison.compare(whole, parallelize(deepcopy(whole), mesh), x, when)
            found[f"{kind}, {when}"] = [rank.differences, rank.differs]
    return found


def talk(mesh):
    """Collectives of a pass forward, and of one forth and back, as both counters count them."""
    found = {}
    for kind in KINDS:
        x, context = drawn(kind)[1], torch.ones(2, 7, 12, dtype=torch.float64)
        found[kind] = {
            "self": [counted(kind, mesh, [x], forth) for forth in (True, False)],
            "cross": [counted(kind, mesh, [x, context], forth) for forth in (True, False)],
        }
        with torch.no_grad():
            heard = comparison.trace_ops(parallelize(drawn(kind)[0], mesh), x)
        ours = comparison.collectives(heard)
        found[kind]["heard"] = [(op.name, op.shape, op.bytes) for op in ours]
    return found


def counted(kind, mesh, inputs, only_forward):
    """By our recorder and, on rank 0, by torch's; it fails where a module is called twice."""
    divided = parallelize(drawn(kind)[0], mesh)
    inputs = [t.clone().requires_grad_() for t in inputs]

    def run():
        y = divided(*inputs)
        if not only_forward:
            y.sum().backward()

    ours = len(comparison.collectives(comparison.trace_ops(run)))
    # While torch counts, its hooks are on every module: then a fused one calls W_QKV twice.
    twice = kind == "rotary" or (kind.startswith("fused") and len(inputs) > 1)
    if twice or mesh.get_rank() > 0:
        run()
        return ours, {"all_reduce": ours}
    from torch.distributed.tensor.debug import CommDebugMode  # some seconds, so only once

    with CommDebugMode() as counter:
        run()
    counts = counter.get_comm_counts().items()
    return ours, {str(op).split(".")[-1]: n for op, n in counts}


def calls(mesh):
    """Cross-attention, masks and names of arguments, forward and back to both inputs."""
    found = {}
    for kind in CROSSED:
        whole, x = drawn(kind)
        context = torch.randn(2, 7, whole.d_context, dtype=x.dtype)
        apart = torch.rand(2, whole.n_heads, 6, 7) < 0.7
        padded = masks.causal & masks.key_padding([7, 4])
        rule = masks.custom(lambda q, k: (k + torch.arange(4).view(4, 1, 1)) % 3 < 2)
        mask = {"mha": apart, "fused": apart, "gqa": padded & rule}.get(kind, padded)
        divided, grads, outs = parallelize(deepcopy(whole), mesh), [], []
        for attention in (whole, divided):
            given = {"x": x, "context": context}
            given = {name: t.clone().requires_grad_() for name, t in given.items()}
            outs.append(attention(**given, mask=mask))
            outs[-1].square().sum().backward()
            grads.append(torch.cat([t.grad.flatten() for t in given.values()]))
        found[kind] = [comparison.far(*outs), comparison.far(*grads)]
    return found


def decoding(mesh):
    """Token by token with a cache that holds the heads of this rank."""
    found = {}
    for kind in ("mha", "gqa", "rotary", "fused", "fused gqa", "latent"):
        whole, x = drawn(kind)
        wanted = whole(x, mask=masks.causal)
        divided = parallelize(whole, mesh)
        with torch.no_grad():
            if kind.startswith("fused"):
                cache = KVCache(max_length=6)
                steps = [divided(t, mask=masks.causal, cache=cache) for t in x.split(1, dim=1)]
                heads = divided.n_kv_heads
            else:
                with kv_cache(divided) as cache:
                    steps = [divided(t, mask=masks.causal) for t in x.split(1, dim=1)]
                heads = 0 if "latent" in cache.wires else cache.wires["v_heads"].shape[1]
        found[kind] = [comparison.far(torch.cat(steps, dim=1), wanted), heads]
    return found


def learning(mesh):
    """After a step of training, with other weights on every rank and part of them frozen."""
    found = {}
    for kind in KINDS | LATENT:
        whole, x = drawn(kind)
        other, _ = drawn(kind, seed=mesh.get_rank())
        for attention in (whole, other):
            attention.W_O.weight.requires_grad_(False)
        divided, outs = parallelize(other, mesh), []
        for attention in (whole, divided):
            learners = [p for p in attention.parameters() if p.requires_grad]
            optimizer = torch.optim.SGD(learners, lr=0.1)
            attention(x).square().sum().backward()
            optimizer.step()
            outs.append(attention(x))
        found[kind] = [comparison.far(*outs), divided.W_O.weight.requires_grad]
    return found


def shapes(mesh):
    """What a trace says of one process and of this rank, and the weights put together."""
    whole, x = drawn("mha")
    with trace(whole) as one:
        y = whole(x)
    divided = parallelize(deepcopy(whole), mesh)
    with trace(divided) as here:
        divided(x)
    together_again = divided.project.W_Q.weight.full_tensor()
    return {
        "flops": [{name: step.flops for name, step in w.steps.items()} for w in (one, here)],
        "sizes": [one.sizes, here.sizes],
        "y": comparison.far(here["y"], y),
        "W_Q": comparison.far(together_again, whole.project.W_Q.weight),
    }


def alone(mesh):
    """Rank 1 dies between two passes; others would wait for much longer."""
    attention, x = drawn("mha")
    divided = parallelize(attention, mesh)
    divided(x)
    if mesh.get_rank() == 1:
        os._exit(DEAD)
    return ended(lambda: divided(x))


def ended(call):
    start = time.monotonic()
    try:
        call()
    except RuntimeError as error:
        return [type(error).__name__, time.monotonic() - start]
    return ["NO ERROR", 0]


EXPERIMENTS = (
    *(equal, left_out, talk, calls, decoding, learning),
    *(by_tokens, replaced, cached, shapes, refusals),
)


def main(folder: Path, *die: str) -> None:
    torch.set_num_threads(1)
    rank, found = os.environ["RANK"], {}
    with process_group(timeout=600 if die else 60) as mesh:
        if die:
            print("met\n", end="", flush=True)
            if alone(mesh)[0] == "NO ERROR":
                print("went on\n", end="", flush=True)
            return
        for experiment in (*EXPERIMENTS, alone):
            found[experiment.__name__] = experiment(mesh)
            (folder / f"{rank}.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
