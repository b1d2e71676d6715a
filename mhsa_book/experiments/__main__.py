"""``python -m mhsa_book.experiments``: run an experiment, list them, run one seed again.

python -m mhsa_book.experiments --list
python -m mhsa_book.experiments overlapped                          goes on where it stopped
python -m mhsa_book.experiments overlapped --again "4 heads of 3" 3
"""

import argparse
from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from textwrap import indent

from mhsa_book.experiments import listing, planned, running
from mhsa_book.experiments.repeating import again
from mhsa_book.results import run_files
from mhsa_book.results.runs import Runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser("python -m mhsa_book.experiments", description=_title())
    parser.add_argument("name", nargs="?", help="of an experiment")
    parser.add_argument("--list", action="store_true", help="all, with predictions and runtime")
    parser.add_argument("--again", nargs=2, metavar=("ARM", "SEED"), help="one stored curve")
    parser.add_argument("--processes", type=int, default=2, help="trials at a time")
    parser.add_argument(
        "--folder", type=Path, default=Path("build/experiments"), help="where trials are kept"
    )
    options = parser.parse_args(arguments)
    if options.list:
        shown = map(described, listing.names()), map(listing.listed, listing.studies())
        print("\n\n".join(chain(*shown)))
    elif options.name not in listing.names():
        parser.error(f"{options.name} is no experiment; there are {', '.join(listing.names())}")
    elif options.again is not None:
        arm, seed = options.again
        apart = again(options.name, arm, int(seed))
        print(f"{arm}, seed {seed}: the curves differ by at most {apart:g}; 0 is bit for bit.")
    else:
        print(_run(options))


def described(name: str) -> str:
    """An experiment as ``--list`` shows it: question, predictions, runtime, stored date."""
    experiment = listing.find(name)
    stored = "not stored"
    if (run_files.FOLDER / f"{name}.json").is_file():  # a file that cannot be read is an error
        runs = run_files.kept(name)
        minutes, processes = runs.machine["seconds"] / 60, runs.machine["processes"]
        stored = f"stored {runs.date}: {minutes:.0f} minutes of processor on {processes} cores"
    expected = planned.expected(experiment, 84)
    return "\n".join([str(experiment), indent(expected, "  "), f"  {stored}"])


def _run(options: argparse.Namespace) -> Runs:
    from tqdm import tqdm

    experiment = listing.find(options.name)
    commit = running.predictions_commit(listing.source(options.name))
    runs = running.run(
        experiment,
        commit,
        options.folder / f"{options.name}-{commit[:12]}",
        n_processes=options.processes,
        progress=partial(tqdm, dynamic_ncols=True),
    )
    run_files.FOLDER.mkdir(parents=True, exist_ok=True)
    run_files.save(runs, run_files.FOLDER / f"{options.name}.json")
    print(planned.report(experiment, runs))
    return runs


def _title() -> str:
    return (__doc__ or "").splitlines()[0]


if __name__ == "__main__":
    main()
