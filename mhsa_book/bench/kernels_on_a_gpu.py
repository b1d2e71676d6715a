"""Which of PyTorch's kernels takes what on a GPU: its time, its memory and its error.

``python -m mhsa_book.bench.kernels_on_a_gpu FILE.json`` runs on a machine with one. A *need* is
what a model asks of attention: fewer KV heads, a window, a soft cap, sinks, documents, or few
queries behind many keys. Every way to meet it is compared with the definition in float64.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mhsa_book.bench import machine, reasons
from mhsa_book.bench.cuda_core import BACKENDS, CudaClock, rates, seconds
from mhsa_book.results.whole import write_whole
from mhsa_lib import functional, masks
from mhsa_lib.fused import kernels
from mhsa_lib.llama_stages import CappedAttend, SinkAttend

DEVICE = "cuda"
N_HEADS, N_KV_HEADS, D_HEAD = 32, 8, 128
WINDOW, CAP, DOCUMENTS = 1024, 50.0, 4
LENGTHS = 4096, 16_384
SAMPLE = 64
"""Queries, the last ones, whose output is compared."""

Way = Callable[[], Tensor]
Make = Callable[[], Way]
"""What prepares a way; it may find that it does not exist."""


class Need:
    """One need: queries, keys and values, who may attend to whom, and what is asked besides."""

    def __init__(
        self, name: str, n_query: int, n_key: int, *, batch: int = 1, kv_heads: int = N_KV_HEADS
    ) -> None:
        self.name, self.batch = name, batch
        make: Any = {"dtype": torch.bfloat16, "device": DEVICE}
        self.q = torch.randn(batch, N_HEADS, n_query, D_HEAD, **make)
        self.k, self.v = torch.randn(2, batch, kv_heads, n_key, D_HEAD, **make)
        self.scale = D_HEAD**-0.5
        self.window = WINDOW if name == "window" else None
        self.cap = CAP if name == "soft cap" else None
        self.sinks = torch.randn(N_HEADS, **make) if name == "sinks" else None
        self.documents = None
        if name == "documents":
            self.documents = torch.arange(n_key, device=DEVICE) * DOCUMENTS // n_key

    @property
    def mask(self) -> masks.Predicate:
        """The rule of this need."""
        if self.window is not None:
            return masks.sliding_window(self.window)
        if self.documents is not None:
            return masks.causal & masks.documents(self.documents)
        return masks.causal

    def allowed(self, n_query: int) -> Tensor:
        """Which keys the last queries may attend to, (1, 1, query, key)."""
        n_key = self.k.shape[-2]
        query = torch.arange(n_key - n_query, n_key, device=DEVICE)[:, None]
        return self.mask.allows(query, torch.arange(n_key, device=DEVICE))[None, None]

    def by_definition(self, n_query: int, dtype: torch.dtype) -> Tensor:
        """z of the last queries with all weights written out."""
        q, k, v = (t.to(dtype) for t in (self.q[..., -n_query:, :], self.k, self.v))
        k, v = (functional.share_heads(t, N_HEADS) for t in (k, v))
        scores, allowed = functional.score(q, k, self.scale), self.allowed(n_query)
        if self.cap is not None:
            scores = self.cap * torch.tanh(scores / self.cap)
        if self.sinks is not None:
            return functional.softmax_with_sinks(scores, self.sinks, allowed) @ v
        return functional.softmax(scores, allowed) @ v

    def flops(self) -> int:
        """FLOPs of both products, of the pairs that the rule allows."""
        pairs = int(self.allowed(self.q.shape[-2]).sum())
        return 4 * self.batch * N_HEADS * D_HEAD * pairs

    def ways(self) -> Iterator[tuple[str, Make]]:
        """Every way to meet the need, by name."""
        q, k, v, n_query = self.q, self.k, self.v, self.q.shape[-2]
        grouped = k.shape[1] != N_HEADS
        plain = self.cap is None and self.sinks is None
        causal = self.name in ("causal", "fewer KV heads")
        if causal or n_query == 1:
            for name in ("as it chooses", *BACKENDS):
                yield f"SDPA, {name}", partial(self._sdpa, grouped, name, is_causal=causal)
            if grouped:
                all_kv = [functional.share_heads(t, N_HEADS).contiguous() for t in (k, v)]
                yield (
                    "SDPA, heads repeated before",
                    partial(self._sdpa, False, kv=all_kv, is_causal=causal),
                )
        if plain and n_query > 1:
            tensor = self.allowed(n_query)
            yield "SDPA, boolean tensor", partial(self._sdpa, grouped, attn_mask=tensor)
        if n_query > 1:
            yield "FlexAttention", partial(self._flex, grouped)
            yield "varlen_attn", self._varlen
        yield "all weights written", lambda: partial(self.by_definition, n_query, q.dtype)
        if plain:
            yield "ours", lambda: partial(kernels.attend, q, k, v, self.mask, scale=self.scale)
            return
        steps: Any = CappedAttend(self.scale, self.cap)
        if self.sinks is not None:
            steps = SinkAttend(self.scale, N_HEADS).to(self.sinks)
            steps.sinks.data.copy_(self.sinks)
        steps.requires_grad_(False)
        yield "ours", lambda: partial(kernels.attend_by_steps, steps, q, k, v, self.mask)

    def _sdpa(self, grouped: bool, backend: str = "", kv: Any = None, **given: Any) -> Way:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        k, v = kv or (self.k, self.v)

        def plain() -> Tensor:
            return F.scaled_dot_product_attention(self.q, k, v, **given, enable_gqa=grouped)

        def forced() -> Tensor:
            with sdpa_kernel(getattr(SDPBackend, backend)):
                return plain()

        return forced if backend in BACKENDS else plain

    def _flex(self, grouped: bool) -> Way:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        shift, mask, cap = self.k.shape[-2] - self.q.shape[-2], self.mask, self.cap

        def allows(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return mask.allows(query + shift, key)

        def capped(score: Tensor, *_: Tensor) -> Tensor:
            return CAP * torch.tanh(score / CAP)

        sizes = self.q.shape[-2], self.k.shape[-2]
        blocks = create_block_mask(allows, None, None, *sizes, device=DEVICE)
        given: dict[str, Any] = {"block_mask": blocks, "enable_gqa": grouped}
        if cap is not None:
            given["score_mod"] = capped
        torch.compiler.reset()
        compiled: Any = torch.compile(flex_attention)
        if self.sinks is None:
            return lambda: compiled(self.q, self.k, self.v, **given)
        sinks = self.sinks[:, None]

        def with_sinks() -> Tensor:
            # The softmax without a sink, made smaller by the share that the sink takes.
            z, total = compiled(self.q, self.k, self.v, return_lse=True, **given)
            return z * torch.sigmoid(total - sinks)[..., None].to(z.dtype)

        return with_sinks

    def _varlen(self) -> Way:
        from torch.nn.attention.varlen import varlen_attn

        if self.cap is not None or self.sinks is not None:
            raise NotImplementedError("it has neither a cap nor sinks")
        attend: Any = varlen_attn
        given: dict[str, Any] = {}
        takes = signature(attend).parameters
        if "window_size" in takes:
            given["window_size"] = (-1 if self.window is None else self.window - 1, 0)
        elif self.window is not None:
            raise NotImplementedError(f"it has no window in torch {torch.__version__}")
        else:
            given["is_causal"] = True
        if "enable_gqa" in takes:
            given["enable_gqa"] = self.k.shape[1] != N_HEADS
        n_query, n_key = self.q.shape[-2], self.k.shape[-2]
        parts = DOCUMENTS if self.documents is not None else self.batch
        rows = [t.transpose(1, 2).flatten(0, 1).contiguous() for t in (self.q, self.k, self.v)]
        many: dict[str, Any] = {"device": DEVICE, "dtype": torch.int32}
        each_q, each_k = self.batch * n_query // parts, self.batch * n_key // parts
        ends_q, ends_k = (torch.arange(parts + 1, **many) * each for each in (each_q, each_k))

        def call() -> Tensor:
            z: Any = attend(*rows, ends_q, ends_k, each_q, each_k, **given)
            return z.view(self.batch, n_query, N_HEADS, D_HEAD).transpose(1, 2)

        return call


def needs() -> Iterator[Need]:
    """All needs, by length."""
    for n in LENGTHS:
        yield Need("causal", n, n, kv_heads=N_HEADS)
        for name in ("fewer KV heads", "window", "documents", "soft cap", "sinks"):
            yield Need(name, n, n)
        yield Need("16 queries behind a text", 16, n)
        yield Need("one query", 1, n)
        yield Need("one query", 1, n, batch=16)


def peak(call: Way) -> int:
    """Bytes that a call needs at its highest, its result included."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def rows(need: Need, clock: CudaClock) -> Iterator[dict[str, Any]]:
    """One row for every way, with what was measured or why not."""
    sample = min(SAMPLE, need.q.shape[-2])
    right, flops = need.by_definition(sample, torch.float64), need.flops()
    what = {"need": need.name, "n_query": need.q.shape[-2], "n_key": need.k.shape[-2]}
    what |= {"batch": need.batch, "n_kv_heads": need.k.shape[1]}
    for name, make in need.ways():
        row = what | {"way": name}
        try:
            call = make()
            error = (call()[..., -sample:, :].double() - right).abs().max().item()
            bytes_, took = peak(call), seconds(clock, call)
        except Exception as failed:  # other people's code may fail in any way
            yield row | {"reason": reasons.why(failed)}
            torch.cuda.empty_cache()
            continue
        yield row | {
            "ms": 1000 * took,
            "tflops": flops / took / 1e12,
            "peak_mb": bytes_ / 1e6,
            "error": error,
        }


def main() -> None:
    """Measure everything and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    torch.manual_seed(0)
    clock, found = CudaClock(), []
    for need in needs():
        for row in rows(need, clock):
            found.append(row)
            print(row, flush=True)
        del need
        torch.cuda.empty_cache()
    with torch.device(DEVICE):
        best = rates(clock)
    shape = {"n_heads": N_HEADS, "d_head": D_HEAD, "dtype": "bfloat16", "window": WINDOW}
    shape |= {"cap": CAP, "documents": DOCUMENTS}
    report = {
        "date": machine.today(),
        "gpu": torch.cuda.get_device_name(),
        "machine": machine.description(),
        "rates": best,
        "shape": shape,
        "rows": found,
    }
    write_whole(file, json.dumps(report, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
