"""Mistakes in `mhsa_lib/tracing/ledger`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "the ledger does not escape names",
        "trace/ledger.py",
        "{escape(row.wire)}",
        "{row.wire}",
        "trace/ledger",
    ),
    Mutant(
        "every bar with queries is filled",
        "trace/ledger.py",
        '{"query", "key"} <= self.axes.keys()',
        '{"query"} <= self.axes.keys()',
        "trace/ledger",
    ),
]
