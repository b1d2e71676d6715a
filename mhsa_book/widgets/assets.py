"""Data that is too large for a page: a figure loads it when its reader presses a button.

An asset is bytes with a name. Beside the pages of the book it lies as scripts that hand it over
in base64: a page that was opened from a file may run the scripts of its folder, but not read
its files. A large one lies there as plain bytes, too: a page from a host reads these, a quarter
less to send, and the browser keeps them. Where a kernel is, Python sends the bytes. All come in
the same parts, so that a reader sees how far a large one is. ``shared/assets.js`` asks,
``tools/build/assets.py`` writes.

A key holds the first letters of the content's hash, so that a page never runs on an asset
that was made for another state of the library.
"""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

PART = 1 << 19
"""Bytes of a part: half a second on a slow line, some milliseconds to decode."""


@dataclass(frozen=True)
class Asset:
    r"""Bytes with a name, as they travel to a page.

    >>> asset = Asset("one", b"mha")
    >>> asset.key
    'one-199948b7'
    >>> dict(asset.files())
    {'one-199948b7.0.js': b'window.mhsaAssets.set("one-199948b7.0","bWhh");\n'}
    """

    name: str
    data: bytes
    part: int = PART
    """Bytes of a part; the last may be shorter."""

    plain: bool = False
    """Whether the bytes lie beside the scripts as they are."""

    @cached_property
    def key(self) -> str:
        """The name, with the content's hash."""
        return keyed(self.name, hashlib.sha256(self.data).hexdigest())

    @property
    def parts(self) -> list[bytes]:
        """The bytes, cut."""
        return [self.data[at : at + self.part] for at in range(0, len(self.data), self.part)]

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Names and contents of the files that lie beside the pages, one after the other."""
        for i, part in enumerate(self.parts):
            name = f"{self.key}.{i}"
            yield f"{name}.js", _script(name, base64.b64encode(part).decode()).encode()
            if self.plain:
                yield f"{name}.bin", part

    @cached_property
    def about(self) -> dict[str, Any]:
        """What a page has to know, as ``described`` says it."""
        return described(self.key, len(self.data), self.part, self.plain)


def keyed(name: str, sha256: str) -> str:
    """The key of an asset with this name and hash."""
    return f"{name}-{sha256[:8]}"


def described(key: str, size: int, part: int = PART, plain: bool = False) -> dict[str, Any]:
    """What a page has to know of ``size`` bytes, which need not be there to be described.

    The key, how many parts, bytes in all, bytes of the scripts, and where the bytes lie there
    as they are, that they do.

    >>> described("one-199948b7", 3)
    {'key': 'one-199948b7', 'parts': 1, 'bytes': 3, 'files': 48}
    """
    sizes = [min(part, size - at) for at in range(0, size, part)]
    empty = (len(_script(f"{key}.{i}", "")) for i in range(len(sizes)))
    scripts = sum(empty) + sum(4 * -(-each // 3) for each in sizes)
    found: dict[str, Any] = {"key": key, "parts": len(sizes), "bytes": size, "files": scripts}
    return found | ({"plain": True} if plain else {})


def _script(name: str, text: str) -> str:
    return f'window.mhsaAssets.set("{name}","{text}");\n'


def serve(widget: Any, asset: Asset) -> None:
    """Let a widget answer its page, which asks for one part after the other."""

    def answer(_: Any, asked: Any, __: Any) -> None:
        if asked.get("asset") == asset.key and asked.get("part") in range(len(asset.parts)):
            widget.send(asked, [asset.parts[asked["part"]]])

    widget.on_msg(answer)
