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


def added() -> set[str]:
    """The packages that the first cell installs where they are not, the library apart."""
    (line,) = [line for line in bootstrap().splitlines() if "%pip install -q" in line]
    words = [word for word in line.split()[2:] if not word.startswith(("-", "\\"))]
    return {canonicalize_name(word) for word in words}
