"""A cache of the one file, and files: a call that fails anywhere leaves them as they were."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mhsa_book import one_file
from mhsa_book.results import run_files
from tests.helpers import halfway
from tests.helpers.drawn import rand
from tests.mhsa_book.results.experiment import experiment

MANY = settings().max_examples > 25
few = settings(max_examples=30 if MANY else 3)
errors = st.sampled_from(halfway.ERRORS)
WAYS = {
    "before an operation": halfway.operations,
    "after a module": lambda injected: halfway.modules(injected, after=True),
    "at a line": lambda injected: halfway.lines(injected, "mhsa_book"),
}


@dataclass
class Subject:
    attention: Any
    cache: Any
    parts: list[torch.Tensor]
    repeats: bool = False
    y: list[torch.Tensor] = field(default_factory=list)

    def call(self, i: int) -> torch.Tensor:
        with torch.no_grad():
            return self.attention(self.parts[i], causal=True, cache=self.cache)

    def state(self) -> Any:
        cache, n = self.cache, self.cache.length
        kept = [halfway.bits(t[:, :, :n]) if n else None for t in (cache.k, cache.v)]
        return halfway.ModuleState(self.attention)(), n, cache.masked, cache.placed, kept

    def close(self) -> None:
        pass


@pytest.mark.parametrize("way", WAYS)
@few
@given(errors, st.lists(st.integers(1, 3), min_size=3, max_size=3), st.sampled_from([None, 3]))
def test_the_cache_of_the_one_file(way, error, steps, window):
    torch.manual_seed(0)
    options = {"rope_base": 10.0, "window": window}
    attention = one_file.MultiHeadAttention(8, 4, 2, **options).double().eval()
    x = rand(2, sum(steps), 8)
    with torch.no_grad():
        expected = attention(x, causal=True).split(steps, dim=1)

    def make() -> Subject:
        subject = Subject(attention, one_file.Cache(sum(steps)), [*x.split(steps, dim=1)])
        subject.call(0)
        return subject

    def check(subject: Subject) -> None:
        for i in (1, 2):
            torch.testing.assert_close(subject.call(i), expected[i], rtol=0, atol=1e-12)

    whole = make()
    whole.call(1)
    # A hook on the attention itself runs when the call has succeeded.
    done = None if "operation" in way else whole.state()
    stride = 1 if MANY else 3
    halfway.every_step(
        make, lambda s: s.call(1), check, WAYS[way], error, Subject.state, stride, done
    )


# --- files -----------------------------------------------------------------------------------


@contextmanager
def failing_writes(injected):
    """Half a file is written, or a file is not renamed: no room, or an interrupt."""
    patch = pytest.MonkeyPatch()
    write, replace = Path.write_text, Path.replace

    def half(path, text, *args, **options):
        write(path, text[: len(text) // 2], *args, **options)
        injected.step()
        return write(path, text, *args, **options)

    def renamed(path, target):
        injected.step()
        return replace(path, target)

    patch.setattr(Path, "write_text", half)
    patch.setattr(Path, "replace", renamed)
    try:
        yield
    finally:
        patch.undo()


def save_runs(file: Path, which: str) -> None:
    run_files.save(experiment(question=which), file.with_suffix(".json"))


def save_view(file: Path, which: str) -> None:
    pytest.importorskip("bertviz")
    from mhsa_book.bertviz import head_view

    head_view(torch.eye(2)[None], [which, "x"]).save(file.with_suffix(".html"))


@dataclass
class Folder:
    path: Path
    repeats: bool = True

    def state(self) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in sorted(self.path.iterdir())}

    def close(self) -> None:
        pass


@pytest.mark.parametrize("way", ["in the middle of a write", "at a line"])
@pytest.mark.parametrize("save", [save_runs, save_view])
@few
@given(error=errors)
def test_files_are_the_old_or_the_new(save, way, error, tmp_path_factory):
    def make() -> Folder:
        folder = Folder(tmp_path_factory.mktemp("files"))
        save(folder.path / "a", "old")
        return folder

    def check(folder: Folder) -> None:
        save(folder.path / "a", "new")
        assert folder.state() == done.state()

    done = make()
    save(done.path / "a", "new")
    assert done.state() != make().state()
    inject = failing_writes if "write" in way else WAYS["at a line"]
    stride = 1 if "write" in way else (7 if MANY else 180)
    halfway.every_step(
        make,
        lambda folder: save(folder.path / "a", "new"),
        check,
        inject,
        error,
        Folder.state,
        stride,
        done.state(),
    )
