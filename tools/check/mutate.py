"""Plant one mistake after another in a copy of the library; a named test must notice each.

python tools/check/mutate.py            those that changed since a test noticed them, 60 at most
python tools/check/mutate.py softmax    those with "softmax" in their name
python tools/check/mutate.py --all      every one of tools/check/mutants
python tools/check/mutate.py --help     this text

Every mistake is tried in a process of its own, forked from one that has imported torch. What
was noticed is kept in tools/check/mutants/noticed.json, beside the mistakes and with them in
git; `noticed.py` says what counts as a change. What is beyond the 60 waits for the next run, or
for the weekly one, which tries all. A mistake that no test notices is a survivor: write the
missing test.
"""

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tools.check import noticed  # noqa: E402  the line above finds it
from tools.check.mutant import PACKAGES, Mutant, Project  # noqa: E402
from tools.check.mutants import MUTANTS  # noqa: E402

WORKERS = 2
MOST = 60  # mistakes in a run that does not ask for some by name, or for all
LIMIT = 300  # seconds for one mistake
LIMIT_CLEAN = 1800  # seconds for a worker's share of all tests without any
NOTICED = 1  # pytest exits with 1 when a test failed
BROKEN = 99  # the child did not run the tests of the copy
FORK = get_context("fork")


@dataclass
class Run:
    """One copy of the library under test."""

    mutant: Mutant | None
    folder: Path
    process: ForkProcess
    start: float

    @property
    def name(self) -> str:
        """The mistake, or that there is none."""
        return self.mutant.name if self.mutant else "no mistake"

    def verdict(self) -> str:
        """Return an empty string if all is as it has to be, else what is not."""
        code, wanted = self.process.exitcode, NOTICED if self.mutant else 0
        if code == wanted:
            return ""
        if code == 0:
            return "SURVIVED"
        return f"tests exited with {code}\n{self.output()[-2000:]}"

    def output(self) -> str:
        """What pytest printed."""
        return (self.folder / "output.txt").read_text(encoding="utf-8")

    def killer(self) -> str:
        """The first test that failed."""
        found = re.search(
            r"^FAILED tests/(?:\w+/)*test_(\S+?)(\[.*| - .*)?$", self.output(), re.MULTILINE
        )
        return found[1].replace(".py::test_", ": ").replace("_", " ") if found else ""


@dataclass
class Job:
    """A mistake, or none; the files of tests to run, and the texts that replace files."""

    mutant: Mutant | None
    tests: set[Path]
    texts: dict[Path, str]


def launch(job: Job, project: Project, scratch: Path) -> Run:
    """Copy packages and tests, replace what the job replaces, and start pytest on the copy."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    for name in (*project.packages, "tests"):
        # what is compiled too, while it is true
        shutil.copytree(project.root / name, folder / name, copy_function=link)
    shutil.copy(project.root / "pyproject.toml", folder)
    for file, text in job.texts.items():
        copy = folder / file.relative_to(project.root)
        copy.unlink()  # writing into a link would write into the library
        copy.write_text(text, encoding="utf-8")
    tests = sorted(str(file.relative_to(project.root)) for file in job.tests)
    process = FORK.Process(target=check, args=(folder, tests))
    process.start()
    return Run(job.mutant, folder, process, time.monotonic())


def link(source: str, copy: str) -> None:
    """Let a copy be the same file, which takes no time; copy where that is not possible."""
    try:
        os.link(source, copy)
    except OSError:  # another file system
        shutil.copy2(source, copy)


def check(folder: Path, tests: list[str]) -> None:
    """Run tests of a copy, in a process of its own, and exit with pytest's code."""
    import pytest

    output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(folder)
    sys.dont_write_bytecode = True
    sys.path[:] = [str(folder), *(entry for entry in sys.path if Path(entry) != ROOT)]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = ["-x", "-q", "--tb=line", "-p", "no:cacheprovider"]
    options += ["-p", "_hypothesis_pytestplugin", "-m", "not browser"]
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning", "--hypothesis-profile=mutants"]
    code = BROKEN
    try:
        found = pytest.main([f"--rootdir={folder}", *options, *quiet, *tests])
        imported = [str(sys.modules[name].__file__) for name in PACKAGES if name in sys.modules]
        of_copy = [Path(file).is_relative_to(folder) for file in imported]
        code = int(found) if of_copy and all(of_copy) else BROKEN
    finally:
        os._exit(code)


def results(jobs: Sequence[Job], project: Project, scratch: Path) -> Iterator[Run]:
    """Yield every run as it ends, ``WORKERS`` at a time."""
    waiting, running = list(jobs), list[Run]()
    while waiting or running:
        while waiting and len(running) < WORKERS:
            running.append(launch(waiting.pop(0), project, scratch))
        wait([run.process.sentinel for run in running], timeout=1)
        for run in list(running):
            if time.monotonic() - run.start > (LIMIT if run.mutant else LIMIT_CLEAN):
                run.process.kill()
                run.process.join()
            if not run.process.is_alive():
                running.remove(run)
                yield run
                shutil.rmtree(run.folder)  # whoever got it has read it


def preload(tests: set[Path]) -> None:
    """Import once what every test needs, and nothing of ours: forks start with it."""
    import einops  # noqa: F401
    import hypothesis  # noqa: F401
    import jaxtyping  # noqa: F401
    import pytest  # noqa: F401
    import torch
    import torch._dynamo

    if any("transformers" in file.read_text(encoding="utf-8") for file in tests):
        from transformers import AutoTokenizer, BertModel, GPT2Model  # noqa: F401
    torch.set_num_threads(1)
    assert not set(PACKAGES) & sys.modules.keys()


def choose(words: Sequence[str], mutants: list[Mutant], old: set[str]) -> list[Mutant]:
    """Return all mistakes, those with some words in their name, or those that are not old."""
    changed = [mutant for mutant in mutants if mutant.name not in old]
    if "--all" in words:
        chosen = mutants
    elif words:
        chosen = [m for m in mutants if all(word in m.name for word in words)]
        if not chosen:
            sys.exit(f"No mistake has {' and '.join(words)} in its name.")
    else:
        chosen = changed[:MOST]
    print(f"{len(mutants)} known, {len(changed)} changed, run: {len(chosen)}", flush=True)
    if left := sum(mutant not in chosen for mutant in changed):
        print(f"{left} wait for the weekly run, or for another one now.", flush=True)
    return chosen


def plant(chosen: Sequence[Mutant], project: Project) -> Iterator[Run]:
    """See the tests pass without any mistake; then yield every mistake's run as it ends.

    Without any, the definitions that mistakes change are written again as planting writes them.
    So a test that only minds how its subject is formatted fails here, and is not taken for one
    that notices mistakes.
    """
    jobs = [Job(m, project.tests(m), project.planted(m)) for m in chosen]
    tests = {file for job in jobs for file in job.tests}
    preload(tests)
    with tempfile.TemporaryDirectory() as scratch:
        shares = [set(sorted(tests)[i::WORKERS]) for i in range(WORKERS)]
        texts = project.untouched(chosen)
        clean = [Job(None, share, texts) for share in shares if share]
        runs = results(clean, project, Path(scratch))
        if faults := [verdict for run in runs if (verdict := run.verdict())]:
            sys.exit("\n".join(["The tests fail without any mistake:", *faults]))
        print(f"{len(tests)} test files are green without a mistake.", flush=True)
        yield from results(jobs, project, Path(scratch))


def main(*words: str, mutants: list[Mutant] = MUTANTS, file: Path = noticed.FILE) -> int:
    if {"-h", "--help"} & {*words}:
        print(__doc__)
        return 0
    start, survivors, project = time.monotonic(), [], Project(ROOT)
    kept, now = noticed.read(file), noticed.fingerprints(mutants, project)
    kept = {name: kept[name] for name in now if name in kept}  # what is planted still
    chosen = choose(words, mutants, {name for name in kept if kept[name] == now[name]})
    for i, run in enumerate(plant(chosen, project) if chosen else (), start=1):
        verdict = run.verdict()
        print(f"[{i:3}/{len(chosen)}] {run.name}: {verdict or run.killer()}", flush=True)
        kept[run.name] = now[run.name]
        if verdict:
            survivors.append(run.name)
            del kept[run.name]
        noticed.write(kept, file)
    noticed.write(kept, file)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mistakes noticed", end=" ")
    print(f"in {time.monotonic() - start:.0f} s.", *survivors, sep="\n  survived: ")
    return bool(survivors)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
