"""Notebooks need no name that the version they install lacks."""

from importlib import import_module
from importlib.util import find_spec

from tools import ROOT
from tools.build import names
from tools.build.repository import project

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def there(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    try:
        return hasattr(import_module(module), attribute) or find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def test_the_notebooks_need_what_their_version_has():
    version, kept = names.kept()
    assert version == project()["version"], "python -m tools.build.names"
    lacking = sorted(names.of_all_notebooks() - kept)
    assert lacking == [], f"not in {version}: raise it, or python -m tools.build.names"


def test_a_name_is_there_or_not():
    assert there("mhsa_lib.masks")
    assert there("mhsa_lib.masks.causal")
    assert there("mhsa_lib.cache.memory")
    assert not there("mhsa_lib.masks.later")
    assert not there("mhsa_lib.later.causal")
    assert not there("mhsa_lib.attention.later.causal")


def test_what_a_version_has_stays():
    _, kept = names.kept()
    assert [name for name in sorted(kept) if not there(name)] == []


def test_a_released_version_gets_no_further_names():
    version, kept = names.kept()
    dated = CHANGELOG.replace(f"## {version}, unreleased", f"## {version}, 2027-01-31")
    more = kept | {"mhsa_lib.masks.later"}
    assert names.refusal(more, version, dated).startswith(
        f"{version} is released without mhsa_"
    )
    assert not names.refusal(kept, version, dated)
    assert not names.refusal(more, "9.9.9", dated)
    undated = CHANGELOG.replace(f"## {version},", f"## {version}, unreleased\n\n## before,")
    assert not names.refusal(more, version, undated)


def test_the_changelog_tells_of_this_version():
    assert f"## {project()['version']}, " in CHANGELOG


def test_a_version_is_told_in_sixty_lines():
    told = CHANGELOG.partition(f"## {project()['version']}, ")[2].partition("\n## ")[0]
    assert len(told.splitlines()) <= 60
