"""Mistakes in `mhsa_lib/tracing/op_recorder`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "FLOPs counted once per multiply-add",
        "trace/op_recorder.py",
        "int(count(*args, **kwargs, out_val=out))",
        "int(count(*args, **kwargs, out_val=out)) // 2",
        "trace/op_recorder",
    ),
    Mutant(
        "the fused kernel costs the scores only",
        "trace/op_recorder.py",
        "k.shape[-2] * (q.shape[-1] + v.shape[-1])",
        "k.shape[-2] * q.shape[-1]",
        "trace/op_recorder",
    ),
    Mutant(
        "torch's one operation costs two projections",
        "trace/op_recorder.py",
        "return 4 * (n_query + n_key)",
        "return 2 * (n_query + n_key)",
        "trace/op_recorder",
    ),
    Mutant(
        "in place is called a view",
        "trace/op_recorder.py",
        '"in place" if func._schema.is_mutable else "view"',
        '"view"',
        "trace/op_recorder",
    ),
    Mutant(
        "a view counts as copied bytes",
        "trace/op_recorder.py",
        'for op in self if op.result == "copy")',
        "for op in self)",
        "trace/op_recorder",
    ),
    Mutant(
        "sparse tensors are counted as dense ones",
        "trace/op_recorder.py",
        "for part in _parts(tensor) or (tensor,)",
        "for part in (tensor,)",
        "trace/op_recorder",
    ),
]
