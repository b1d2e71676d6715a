"""``python -m mhsa_book.bench``: measure this machine, write JSON, draw the pictures.

python -m mhsa_book.bench --quick                          a minute, five cells of the grid
python -m mhsa_book.bench --out cpu.json --plot pictures   everything, half an hour
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from mhsa_book.bench import cuda, machine, suites
from mhsa_book.bench.judge import Effort
from mhsa_book.results import tables
from mhsa_book.results.benchmarks import save
from mhsa_book.results.cells import MASKS


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line, checked: what cannot be done is an error before anything is timed."""
    parser = argparse.ArgumentParser("python -m mhsa_book.bench", description=_first_line())
    parser.add_argument("--suite", choices=suites.SUITES, default="all")
    parser.add_argument("--only", nargs="+", help="cells with one of these words, say decode")
    parser.add_argument("--quick", action="store_true", help="a few cells, under a minute")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--threads", type=int, help="of the CPU; as many as torch takes")
    parser.add_argument("--rounds", type=int, help="at least, for every cell")
    parser.add_argument("--seconds", type=float, help="for every cell, at least")
    parser.add_argument("--alloc", choices=("pinned", "default"), default="pinned")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--plot", type=Path, help="folder for the pictures")
    options = parser.parse_args(arguments)
    for name in ("threads", "rounds", "seconds"):
        value = getattr(options, name)
        if value is not None and not 0 < value < float("inf"):
            parser.error(f"--{name} {value} is not a positive number")
    for word in options.only or ():
        if not suites.chosen(options.suite, options.quick, [word]):
            every = ", ".join(map(repr, suites.chosen(options.suite, options.quick)))
            parser.error(f"--only {word} names no cell; there are: {every or 'none'}")
    if options.device not in ("cpu", "cuda"):
        parser.error(f"--device {options.device} is not known; use cpu or cuda")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: no CUDA device is at hand; leave it out for the CPU")
    if options.out is not None and (options.out.is_dir() or not options.out.parent.is_dir()):
        parser.error(f"--out {options.out} cannot be written; name a file in a folder there is")
    if options.plot is not None and options.plot.exists() and not options.plot.is_dir():
        parser.error(f"--plot {options.plot} is a file; name a folder")
    return options


def run(options: argparse.Namespace) -> int:
    """Measure, print, write and draw; 1 if our own module was wrong anywhere."""
    from tqdm import tqdm

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    usual = suites.QUICK if options.quick else suites.FULL
    effort = Effort(
        usual.rounds if options.rounds is None else options.rounds,
        usual.seconds if options.seconds is None else options.seconds,
    )
    bar = partial(tqdm, desc="bench", dynamic_ncols=True)
    measure = cuda.measure if options.device == "cuda" else suites.measure
    todo = suites.chosen(options.suite, options.quick, options.only) if options.only else None
    shown = {"progress": bar, "say": tqdm.write, "quick": options.quick}
    report = measure(options.suite, effort, todo=todo, **shown)
    if options.out is not None:
        save(report, options.out)
    sheets = [tables.table(report.races), tables.missing(report)] if report.races else []
    sheets += [tables.memory(report, mask) for mask in MASKS if report.memory(mask)]
    print("\n\n".join(map(repr, sheets)))
    if options.plot is not None:
        suites.draw(report, options.plot)
    failures = suites.wrong(report)
    for failure in failures:
        print(f"ours failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


def _first_line() -> str:
    return (__doc__ or "").splitlines()[0]


if __name__ == "__main__":
    chosen = parse()
    machine.restart_with(chosen.alloc, sys.argv[1:])
    sys.exit(run(chosen))
