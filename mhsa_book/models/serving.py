"""Serve a language model: many requests in one pass, prompts in chunks, drafts checked.

Projections and feed-forward parts treat every token on its own, so the new tokens of all
requests go through them one behind the other, in one tensor. Only attention asks which request
a token belongs to, because it reads the cache of that request.

Source: Yu et al., "Orca", OSDI 2022 (requests join and leave between passes); Agrawal et al.,
"Sarathi-Serve", arXiv 2403.02310 (prompts in chunks); Leviathan et al., "Fast Inference from
Transformers via Speculative Decoding", arXiv 2211.17192 (drafts); Saxena, "Prompt Lookup
Decoding", 2023 (drafts out of the text).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from mhsa_book.models import fast_attention
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.paged import PagedCache
from mhsa_lib import checks


class Cache(Protocol):
    """Keys and values of one request in every layer, as ``step`` uses them."""

    @property
    def n_tokens(self) -> int:
        """Tokens that are kept."""

    def reserve(self, n_new: int) -> None:
        """Get room for so many more tokens, before a pass."""

    def extend(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Keep new keys and values (kv_head, token, d_head), and return all of the request."""

    def advance(self, ids: Sequence[int]) -> None:
        """Count new tokens, after a pass."""


@torch.no_grad()
def step(
    lm: LanguageModel, work: Sequence[tuple[Any, Sequence[int]]], every: bool = False
) -> list[Tensor]:
    """Read new tokens of several requests in one pass; return logits for each request.

    ``work`` has a cache and the ids of new tokens for every request: one that was chosen, a
    whole prompt, or a chunk of one. Logits are those behind the last new token, (1,
    vocabulary), or with ``every`` behind each, (token, vocabulary). Raises ``ValueError`` for a
    request without new tokens or given twice, and where layers are replaced or watched.

    >>> from mhsa_book import models
    >>> from mhsa_book.models.paged import PagedCache, Pool
    >>> lm = models.load("SmolLM2-135M")
    >>> pool = Pool(lm, n_pages=10)
    >>> prompts = lm.ids("The capital of France is"), lm.ids("The opposite of hot is")
    >>> logits = step(lm, [(PagedCache(pool), ids) for ids in prompts])
    >>> [lm.text([int(row.argmax())]) for row in logits]
    [' Paris', ' cold']
    """
    _check(lm, work)
    decoder, sizes = lm._runner.decoder, [len(ids) for _, ids in work]
    for cache, ids in work:
        cache.reserve(len(ids))
    starts = [cache.n_tokens for cache, _ in work]
    positions = [torch.arange(at, at + n) for at, n in zip(starts, sizes, strict=True)]
    x = decoder.embed(torch.tensor([each for _, ids in work for each in ids]))
    layers: list[Any] = [*decoder.layers]
    rotary = layers[0].attention.split.rotary
    angles = torch.cat(positions)[:, None] * rotary.frequencies()
    cos, sin = angles.cos(), angles.sin()
    for index, layer in enumerate(layers):
        project, normed = layer.attention.project, layer.attention_norm(x)
        maps = project.W_Q, project.W_K, project.W_V
        q, k, v = (W(normed).unflatten(-1, (-1, lm.d_head)).transpose(0, 1) for W in maps)
        q, k = rotary.pairing.rotate(q, cos, sin), rotary.pairing.rotate(k, cos, sin)
        parts = zip(work, *(heads.split(sizes, dim=1) for heads in (q, k, v)), strict=True)
        z = [_attend(q, *cache.extend(index, k, v)) for (cache, _), q, k, v in parts]
        x = x + layer.attention.W_O(torch.cat(z, dim=1).transpose(0, 1).flatten(1))
        x = x + layer.feed_forward(layer.feed_forward_norm(x))
    for cache, ids in work:
        cache.advance(ids)
    return [decoder.unembed(rows if every else rows[-1:]) for rows in x.split(sizes)]


def _check(lm: LanguageModel, work: Sequence[tuple[Any, Sequence[int]]]) -> None:
    lengths = [len(ids) for _, ids in work]
    if not lengths or min(lengths) < 1:
        raise ValueError(f"requests bring {lengths} new tokens; each needs at least one.")
    if len({id(cache) for cache, _ in work}) < len(work):
        raise ValueError("a cache is given twice; give each request one list of new tokens.")
    runner = lm._runner
    plain = all(fast_attention.is_plain(layer.attention) for layer in runner.layers)
    if runner.replaced or not plain:
        raise ValueError(
            "layers are replaced, switched off or watched, which a step would pass over; call "
            "it outside of that block."
        )


def _attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """z (head, token, d_head) of the newest tokens, behind all keys of their request."""
    n, n_seen = q.shape[-2], k.shape[-2]
    if n == 1:
        # Query heads that share a KV head are as many queries of it: nothing is repeated.
        grouped = q.view(len(k), -1, q.shape[-1])
        return F.scaled_dot_product_attention(grouped[None], k[None], v[None])[0].view_as(q)
    # A prompt from its first token on is the case that kernels know by a flag.
    past = None if n == n_seen else torch.ones(n, n_seen, dtype=torch.bool).tril(n_seen - n)
    z = F.scaled_dot_product_attention(
        q[None], k[None], v[None], past, is_causal=past is None, enable_gqa=True
    )
    return z[0]


Draft = Callable[[Sequence[int], int], Sequence[int]]
"""Guesses at most so many tokens that may come behind these."""


def prompt_lookup(ids: Sequence[int], n_drafts: int, longest: int = 3) -> list[int]:
    """Guess what followed the last time that the last few tokens occurred in the text.

    The last ``longest`` tokens are looked for first, then fewer; nothing found, no guess.

    >>> prompt_lookup([5, 6, 7, 8, 9, 5, 6], n_drafts=2)
    [7, 8]
    """
    checks.positive(n_drafts=n_drafts, longest=longest)
    for n in range(min(longest, len(ids) - 1), 0, -1):
        for start in range(len(ids) - n - 1, -1, -1):
            if [*ids[start : start + n]] == [*ids[-n:]]:
                return [*ids[start + n : start + n + n_drafts]]
    return []


@dataclass
class Written:
    """New tokens, and of every pass behind the prompt how many drafts it had and accepted."""

    ids: list[int]
    drafted: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)

    @property
    def n_passes(self) -> int:
        """Passes through the model, the one over the prompt included."""
        return 1 + len(self.drafted)


def write_on(
    lm: LanguageModel,
    cache: PagedCache,
    ids: Sequence[int],
    n: int,
    draft: Draft | None = None,
    n_drafts: int = 4,
) -> Written:
    """Write at most ``n`` tokens, always the likeliest, and check drafts on the way.

    ``ids`` are all tokens of the text; those that the cache has already are not read again. A
    pass reads the last chosen token with the drafts behind it, and says of each what comes
    next. Drafts count up to the first that is not what the model says, and the model's own
    choice follows them, so what is written does not depend on the drafts.

    >>> from mhsa_book import models
    >>> from mhsa_book.models.paged import PagedCache, Pool
    >>> lm = models.load("SmolLM2-135M")
    >>> ids = lm.ids("one two three four five six. one two three")
    >>> found = write_on(lm, PagedCache(Pool(lm, n_pages=10)), ids, 4, prompt_lookup)
    >>> lm.text(found.ids), found.n_passes
    (' four five six.', 2)
    """
    checks.positive(n=n, n_drafts=n_drafts)
    logits = step(lm, [(cache, ids[cache.n_tokens :])])[0]
    found = Written([int(logits.argmax())])
    while len(found.ids) < n and found.ids[-1] != lm._end:
        room = min(n_drafts, n - len(found.ids) - 1)
        guess = [] if draft is None or room < 1 else [*draft([*ids, *found.ids], room)]
        rows = step(lm, [(cache, [found.ids[-1], *guess])], every=True)[0]
        says = rows.argmax(dim=-1).tolist()
        pairs = zip(guess, says, strict=False)
        right = next((i for i, (one, other) in enumerate(pairs) if one != other), len(guess))
        found.drafted.append(len(guess))
        found.accepted.append(right)
        new = says[: right + 1]
        found.ids += new[: new.index(lm._end) + 1] if lm._end in new else new
        cache.crop(len(ids) + len(found.ids) - 1)
    return found
