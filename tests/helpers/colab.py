"""What Colab has, by its own list, and what the first cell of a notebook adds to it."""

from packaging.utils import canonicalize_name, parse_wheel_filename

from tools import ROOT
from tools.build.repository import bootstrap

LIST = ROOT / "tools" / "check" / "colab.txt"


def had() -> dict[str, str]:
    """The version that Colab has of every package; what comes from elsewhere, of a wheel.

    A package that has neither, Colab's own for instance, is left out.
    """
    versions = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        name, _, version = line.partition("==")
        if line.startswith("#") or (" @ " in line and ".whl" not in line):
            continue
        if " @ " in line:
            name, _, address = line.partition(" @ ")
            file = address.split("/")[-1].split("#")[0].replace("%2B", "+")
            version = str(parse_wheel_filename(file)[1])
        versions[canonicalize_name(name)] = version
    return versions


def added(*, language_model: bool = False) -> set[str]:
    """The packages that the first cell installs where they are not, the library apart."""
    cell = bootstrap(language_model=language_model).splitlines()
    words = [word for line in cell if "%pip install -q" in line for word in line.split()[2:]]
    names = [word.partition("==")[0] for word in words if not word.startswith(("-", "\\"))]
    return {canonicalize_name(name) for name in names}
