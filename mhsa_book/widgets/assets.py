"""Data that is too large for a page: a figure loads it when its reader presses a button.

An asset is bytes with a name. Beside the pages of the book it lies as scripts that hand it over
in base64: a page that was opened from a file may run the scripts of its folder, but not read
its files. Where a kernel is, Python sends the bytes. Both come in the same parts, so that a
reader sees how far a large one is. ``shared/assets.js`` asks, ``tools/build/assets.py`` writes.

A key holds the first letters of the content's hash, so that a page never runs on an asset
that was made for another state of the library.
"""

import base64
import hashlib
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
    >>> asset.scripts
    {'one-199948b7.0.js': 'window.mhsaAssets.set("one-199948b7.0","bWhh");\n'}
    """

    name: str
    data: bytes

    @cached_property
    def key(self) -> str:
        """The name, with the content's hash."""
        return f"{self.name}-{hashlib.sha256(self.data).hexdigest()[:8]}"

    @property
    def parts(self) -> list[bytes]:
        """The bytes, cut; the last part may be shorter."""
        return [self.data[at : at + PART] for at in range(0, len(self.data), PART)]

    @property
    def scripts(self) -> dict[str, str]:
        """Names and texts of the files that lie beside the pages."""
        names = [f"{self.key}.{i}" for i in range(len(self.parts))]
        texts = [base64.b64encode(part).decode() for part in self.parts]
        return {
            f"{name}.js": f'window.mhsaAssets.set("{name}","{text}");\n'
            for name, text in zip(names, texts, strict=True)
        }

    @cached_property
    def about(self) -> dict[str, Any]:
        """What a page has to know: the key, how many parts, bytes in all, bytes of the files.

        >>> Asset("one", b"mha").about
        {'key': 'one-199948b7', 'parts': 1, 'bytes': 3, 'files': 48}
        """
        files = sum(len(text) for text in self.scripts.values())
        return {
            "key": self.key,
            "parts": len(self.parts),
            "bytes": len(self.data),
            "files": files,
        }


def serve(widget: Any, asset: Asset) -> None:
    """Let a widget answer its page, which asks for one part after the other."""

    def answer(_: Any, asked: Any, __: Any) -> None:
        if asked.get("asset") == asset.key and asked.get("part") in range(len(asset.parts)):
            widget.send(asked, [asset.parts[asked["part"]]])

    widget.on_msg(answer)
