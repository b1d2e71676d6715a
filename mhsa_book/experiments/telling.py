"""What heads tell each other in many texts at once, as far as one position is concerned.

There are two lists of texts of one length, ``target`` and ``source``; two texts of a pair may
differ in a few words. A head is given what it found in the source at one position, and
everything else reads the target: path patching, as in ``models.path_patching``, which takes one
text at a time and changes a head at every position. Here only one row changes, so that a pass
costs one token and all 270 heads can be asked.

Source: Wang et al., "Interpretability in the Wild", section 3.1, arXiv 2211.00593.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.switching import Head
from mhsa_lib.tracing.hooks import Hooks


class Reading(NamedTuple):
    """Texts of one length, read at once.

    Parameters
    ----------
    streams : what enters every layer, and what leaves the last: (text, token, d_model)
    z : what every head found: (text, layer, head, token, d_head)
    heard : queries, keys and values of every layer: (text, head or KV head, token, d_head)
    """

    streams: list[Tensor]
    z: Tensor
    heard: list[tuple[Tensor, Tensor, Tensor]]


@torch.no_grad()
def read(lm: LanguageModel, texts: Sequence[str]) -> Reading:
    """Read texts with all heads on; ``ValueError`` for texts of different lengths."""
    ids = [lm.ids(text) for text in texts]
    if len({len(each) for each in ids}) != 1:
        raise ValueError(
            f"the texts have {sorted({len(each) for each in ids})} tokens; give one or more "
            f"texts of one length."
        )
    decoder: Any = lm._runner.decoder
    streams, z, heard = list[Tensor](), list[Tensor](), list[Any]()
    with Hooks(decoder) as hooks:
        for layer in decoder.layers:
            hooks.after(layer.attention.split, lambda module, args, out: heard.append(out))
            hooks.after(layer.attention.attend, lambda module, args, out: z.append(out))
        x = decoder.embed(torch.tensor(ids))
        for layer in decoder.layers:
            streams.append(x)
            x = layer(x)
    return Reading([*streams, x], torch.stack(z, dim=1), heard)


class Telling:
    """What a head tells the logits or another head, in pairs of texts.

    ``answers`` has the ids of two tokens for every text; what is measured is the logit of the
    first minus that of the second, behind the last token of the text.
    """

    def __init__(
        self, lm: LanguageModel, target: Reading, source: Reading, answers: Tensor
    ) -> None:
        self._decoder: Any = lm._runner.decoder
        self.layers: list[Any] = [*self._decoder.layers]
        self.target, self.source = target, source
        table = self._decoder.embed.weight
        self._toward = table[answers[:, 0]] - table[answers[:, 1]]

    @torch.no_grad()
    def ahead(self, last: Tensor) -> Tensor:
        """By how much the first answer leads, (text), for what leaves the last layer."""
        return (self._decoder.norm(last) * self._toward).sum(dim=-1)

    @torch.no_grad()
    def direct(self, z: Tensor | None = None, last: Tensor | None = None) -> Tensor:
        """What every head adds to the lead, the last norm's scale held: (text, layer, head)."""
        z = self.target.z if z is None else z
        last = self.target.streams[-1][:, -1] if last is None else last
        norm = self._decoder.norm
        scale = (last.square().mean(dim=-1, keepdim=True) + norm.eps).rsqrt()
        wanted, shares = norm.weight * self._toward * scale, []
        for i, layer in enumerate(self.layers):
            toward = (wanted @ layer.attention.W_O.weight).unflatten(-1, z[:, i].shape[1::2])
            shares.append((z[:, i, :, -1] * toward).sum(dim=-1))
        return torch.stack(shares, dim=1)

    @torch.no_grad()
    def told(self, sender: Head, at: int, last: int | None = None) -> dict[int, Tensor]:
        """The row at a position, in front of every layer from the sender's to ``last``.

        The sender found there what it found in the source; all other heads are held at what
        they found in the target, so that only the MLPs between pass it on.
        """
        first, head = sender
        x, rows = self.target.streams[first][:, at], dict[int, Tensor]()
        for i in range(first, len(self.layers) if last is None else last):
            z = self.target.z[:, i, :, at]
            if i == first:
                z = z.clone()
                z[:, head] = self.source.z[:, first, head, at]
            x = self._through(i, x, z)
            rows[i + 1] = x
        return rows

    @torch.no_grad()
    def heard(self, receiver: Head, part: str, row: Tensor, at: int) -> Tensor:
        """What a head finds at the last token, (text, d_head), if it hears a row elsewhere.

        ``part`` is "q", "k" or "v", made of ``row`` (text, d_model) at position ``at``; the
        other two are those of the target.
        """
        layer, head = receiver
        place = {"q": 0, "k": 1, "v": 2}[part]
        heard = [each.clone() for each in self.target.heard[layer]]
        heard[place][:, :, at] = self._made(layer, row, at)[place]
        return self._found(layer, *heard)[:, head]

    @torch.no_grad()
    def answer(self, receiver: Head, z: Tensor) -> Tensor:
        """The lead, (text), if a head finds z at the last token; what is behind it reacts."""
        first, head = receiver
        of_first = self.target.z[:, first, :, -1].clone()
        of_first[:, head] = z
        x = self._through(first, self.target.streams[first][:, -1], of_first)
        for i in range(first + 1, len(self.layers)):
            heard = [each.clone() for each in self.target.heard[i]]
            for each, new in zip(heard, self._made(i, x, -1), strict=True):
                each[:, :, -1] = new
            x = self._through(i, x, self._found(i, *heard))
        return self.ahead(x)

    def _made(self, layer: int, row: Tensor, at: int) -> list[Tensor]:
        """Query, key and value that a layer makes of a row: (text, head, d_head)."""
        attention, n_tokens = self.layers[layer].attention, self.target.z.shape[3]
        normed = self.layers[layer].attention_norm(row)[:, None]
        place = torch.tensor([at % n_tokens])
        made = attention.split(*attention.project(normed, normed), positions=place)
        return [each[:, :, 0] for each in made]

    def _found(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """What the heads of a layer find at the last token: (text, head, d_head)."""
        scale = self.layers[layer].attention.attend.scale
        last = q[:, :, -1:]
        return F.scaled_dot_product_attention(last, k, v, scale=scale, enable_gqa=True)[:, :, 0]

    def _through(self, layer: int, x: Tensor, z: Tensor) -> Tensor:
        module = self.layers[layer]
        x = x + module.attention.W_O(z.flatten(-2))
        return x + module.feed_forward(module.feed_forward_norm(x))
