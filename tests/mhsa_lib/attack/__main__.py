"""``python -m tests.mhsa_lib.attack``: attack the library for some time, or repeat one case."""

import argparse
import sys
import warnings
from pathlib import Path

from tests.mhsa_lib.attack.run import TARGETS, Tally, attack, one, several


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mhsa_lib.attack", description=__doc__
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--only", default=",".join(TARGETS), help="targets, by commas")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--report", type=Path, help="a JSON file of every kind of outcome")
    parser.add_argument("--case", help="one case again: fused:123456")
    parser.add_argument("--refusals", action="store_true", help="print what was refused, too")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.case:
        kind, _, number = args.case.partition(":")
        outcome = one(kind, int(number))
        print(outcome.status, outcome)
        return int(outcome.status == "FINDING")
    only = args.only.split(",")
    if unknown := set(only) - set(TARGETS):
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    if args.workers > 1:
        tally = _sum(several(args.seconds, args.seed, only, args.workers))
    else:
        tally = attack(args.seconds, args.seed, only)
    _print(tally, args.refusals)
    if args.report:
        tally.write(args.report)
    return int(tally.counts["FINDING"] > 0)


def _sum(tallies: list[Tally]) -> Tally:
    whole = Tally()
    for tally in tallies:
        whole.counts += tally.counts
        whole.kinds += tally.kinds
        whole.first = tally.first | whole.first
    return whole


def _print(tally: Tally, refusals: bool) -> None:
    shown = {"FINDING", "refused", "skipped"} if refusals else {"FINDING"}
    for key, count in tally.kinds.most_common():
        outcome = tally.first[key]
        if outcome.status in shown:
            print(f"\n{count} × {outcome.status} {key}\n{outcome}"[:900])
    print("\n" + ", ".join(f"{count:,} {status}" for status, count in tally.counts.items()))


if __name__ == "__main__":
    sys.exit(main())
