"""``python -m mhsa_book.experiments.pruning``: run it, say what it takes, run a part again.

python -m mhsa_book.experiments.pruning --plan        predictions and cost, nothing is run
python -m mhsa_book.experiments.pruning               runs, goes on where it stopped, stores
python -m mhsa_book.experiments.pruning --again 3 8   seed 3 at 8 heads once more, compared
python -m mhsa_book.experiments.pruning --longer      asked afterwards: longer fine-tuning
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mhsa_book.experiments.planned import numbered
from mhsa_book.experiments.pruning import budget, longer, predictions, running
from mhsa_book.experiments.pruning.again import again
from mhsa_book.experiments.pruning.plan import Plan
from mhsa_book.experiments.pruning.report import report
from mhsa_book.experiments.running import predictions_commit
from mhsa_book.results import fine_tuning, pruning


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and do what it says."""
    title = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(
        "python -m mhsa_book.experiments.pruning", description=title
    )
    parser.add_argument("--plan", action="store_true", help="predictions and cost alone")
    parser.add_argument("--again", nargs=2, type=int, metavar=("SEED", "LEVEL"), help="one cut")
    parser.add_argument("--longer", action="store_true", help="other lengths of fine-tuning")
    parser.add_argument("--processes", type=int, default=2, help="units at a time")
    parser.add_argument(
        "--folder", type=Path, default=Path("build/experiments"), help="where units are kept"
    )
    options = parser.parse_args(arguments)
    if options.plan:
        print(planned(Plan()))
    elif options.again is not None:
        print(again(pruning.kept(), *options.again))
    elif options.longer:
        print(_longer(options.folder, options.processes))
    else:
        print(_run(options.folder, options.processes))


def planned(plan: Plan) -> str:
    """The predictions, numbered, and what the run takes."""
    return f"{numbered(predictions.PREDICTIONS)}\n\n{budget.expected(plan)}"


def _longer(folder: Path, n_processes: int) -> str:
    from tqdm import tqdm

    shown = partial(tqdm, dynamic_ncols=True)
    units, _ = _place(folder)
    more = longer.run(Plan(), pruning.kept(), units, n_processes=n_processes, progress=shown)
    fine_tuning.save(more)
    return "\n".join(
        f"{each.way}, {each.level} heads, {each.n_steps} steps: {[*each.loss().values()]}"
        for each in more
    )


def _place(folder: Path) -> tuple[Path, str]:
    """Where units are kept, and the commit of the predictions."""
    here = Path(__file__).parent
    commit, planned = (predictions_commit(here / f"{n}.py") for n in ("predictions", "plan"))
    return folder / f"pruning-{commit[:12]}-{planned[:12]}", commit


def _run(folder: Path, n_processes: int) -> str:
    from tqdm import tqdm

    units, commit = _place(folder)
    found = running.run(
        Plan(),
        commit,
        units,
        n_processes=n_processes,
        progress=partial(tqdm, dynamic_ncols=True),
    )
    pruning.save(found)
    return report(found)


if __name__ == "__main__":
    main()
