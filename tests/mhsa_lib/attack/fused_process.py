"""Ways that change what is around a call: threads, defaults, the compiler."""

import threading

import torch

from mhsa_lib import FusedMultiHeadAttention
from tests.mhsa_lib.attack.draw import Draw
from tests.mhsa_lib.attack.problem import Problem, surroundings


def in_threads(draw: Draw, p: Problem) -> None:
    """Several threads use one module."""
    draw.note(legal=True)
    results, problems = {}, []

    def work(i: int) -> None:
        try:
            with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=p.autocast):
                results[i] = p.call()
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    for y in results.values():
        p.holds(y)


def built_elsewhere(draw: Draw, p: Problem) -> None:
    """Built under another default dtype or device, as by a process that has just begun."""
    draw.note(legal=True)
    dtype = draw.one((torch.float64, torch.bfloat16, torch.float16), "default")
    device = draw.one(("cpu", "meta"), "device")
    m, old = p.module, torch.get_default_dtype()
    options = {"n_kv_heads": m.n_kv_heads, "d_head": m.d_head, "bias": m.W_O.bias is not None}
    try:
        torch.set_default_dtype(dtype)
        with torch.device(device):
            other = FusedMultiHeadAttention(m.d_model, m.n_heads, **options)
    finally:
        torch.set_default_dtype(old)
    other = other.to_empty(device="cpu").to(m.W_O.weight.dtype)
    other.load_state_dict(m.state_dict())
    with surroundings(draw, p):
        p.holds(p.call(other))


def other_defaults(draw: Draw, p: Problem) -> None:
    """A default dtype or device changes nothing about tensors that have their own."""
    draw.note(legal=True)
    dtype = draw.one((torch.float64, torch.float32, torch.bfloat16, torch.float16), "default")
    device = draw.one(("cpu", "cpu", "meta"), "device")
    old = torch.get_default_dtype()
    try:
        torch.set_default_dtype(dtype)
        with torch.device(device), surroundings(draw, p):
            y = p.call()
    finally:
        torch.set_default_dtype(old)
    p.holds(y)
    with surroundings(draw, p):
        p.holds(p.call(), what="y afterwards")


def compiled(draw: Draw, p: Problem) -> None:
    """Through torch.compile, without a compiler behind it."""
    draw.note(legal=True)
    torch._dynamo.reset()
    module = torch.compile(p.module, backend="eager")
    with surroundings(draw, p, draw.one(("grad", "no_grad"))):
        p.holds(p.call(module))
