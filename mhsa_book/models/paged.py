"""A paged cache: keys and values of many requests in one memory, cut into pages.

Each request has a *block table*, a list of page numbers, so its pages need not be neighbours,
none is reserved before it is needed, and two requests that begin alike use the same ones.

Source: Kwon et al., "Efficient Memory Management for Large Language Model Serving with
PagedAttention", arXiv 2309.06180.
"""

from collections import deque
from collections.abc import Sequence

import torch
from torch import Tensor

from mhsa_book.models.language_model import LanguageModel
from mhsa_lib import checks


class Pool:
    """Memory for keys and values in pages, which requests take, share and give back.

    A page holds ``size`` tokens, with all layers. ``uses`` counts the requests that read it. A
    page that none reads is free, but its text can still be found until it is taken again.

    Parameters
    ----------
    lm : the model whose keys and values are kept
    n_pages : pages in all
    size : tokens in a page

    Examples
    --------
    >>> from mhsa_book import models
    >>> pool = Pool(models.load("SmolLM2-135M"), n_pages=10)
    >>> pool.page_bytes  # 30 layers, keys and values, 3 KV heads, 16 tokens, 64 features
    737280
    """

    def __init__(self, lm: LanguageModel, n_pages: int, size: int = 16) -> None:
        checks.positive(n_pages=n_pages, size=size)
        self.size = size
        self.memory = torch.zeros(lm.n_layers, 2, n_pages, lm.n_kv_heads, size, lm.d_head)
        self.uses, self.free = [0] * n_pages, deque(range(n_pages))
        self.page_of: dict[tuple[int, ...], int] = {}

    @property
    def page_bytes(self) -> int:
        """Bytes of one page, with all layers."""
        return self.memory[:, :, 0].numel() * self.memory.element_size()

    @property
    def n_used(self) -> int:
        """Pages that at least one request reads."""
        return len(self.uses) - len(self.free)

    def take(self) -> int:
        """Return the page that is free for the longest time, and forget what it held.

        Raises ``MemoryError`` where no page is free.
        """
        if not self.free:
            raise MemoryError(
                f"all {len(self.uses)} pages are in use; release a request, or make a pool of "
                f"more pages."
            )
        page = self.free.popleft()
        self.forget(page)
        self.uses[page] = 1
        return page

    def share(self, page: int) -> int:
        """Return the page, with one more request that reads it."""
        if not self.uses[page]:
            self.free.remove(page)
        self.uses[page] += 1
        return page

    def give_back(self, page: int) -> None:
        """Count one request less that reads the page."""
        self.uses[page] -= 1
        if not self.uses[page]:
            self.free.append(page)

    def forget(self, page: int) -> None:
        """Let nobody find the page any more, because what it holds is about to change."""
        self.page_of = {text: other for text, other in self.page_of.items() if other != page}


class PagedCache:
    """Keys and values of one request in the pages of a pool.

    The token at position p is in page ``table[p // size]``, in slot ``p % size``. A full page
    can be found by the tokens from the first of the text to the last of the page.

    Parameters
    ----------
    pool : where the pages are

    Examples
    --------
    >>> from mhsa_book import models
    >>> from mhsa_book.models import serving
    >>> lm = models.load("SmolLM2-135M")
    >>> pool, ids = Pool(lm, n_pages=10, size=4), lm.ids("Mary and John went to the store")
    >>> first, second = PagedCache(pool), PagedCache(pool)
    >>> logits = serving.step(lm, [(first, ids)])
    >>> second.find_prefix(ids)  # 4 of the 7 tokens are in a page that is full
    4
    >>> again = serving.step(lm, [(second, ids[4:])])
    >>> first.table, second.table, torch.allclose(again[0], logits[0], atol=1e-3)
    ([0, 1], [0, 2], True)
    """

    def __init__(self, pool: Pool) -> None:
        self.pool, self.table, self.ids = pool, list[int](), list[int]()

    @property
    def n_tokens(self) -> int:
        """Tokens that are kept."""
        return len(self.ids)

    def find_prefix(self, ids: Sequence[int]) -> int:
        """Use pages in which a prefix of the text is kept already, and return its length.

        At least one token is left, which the model has to read to say what comes next. Raises
        ``ValueError`` where the request has tokens already.
        """
        if self.table:
            raise ValueError(
                f"the cache has {self.n_tokens} tokens; look for a prefix before the first."
            )
        size = self.pool.size
        for end in range(size, len(ids), size):
            page = self.pool.page_of.get(tuple(ids[:end]))
            if page is None:
                break
            self.table.append(self.pool.share(page))
            self.ids = [*ids[:end]]
        return self.n_tokens

    def reserve(self, n_new: int) -> None:
        """Take pages for so many more tokens, and copy one that others read as well."""
        size, pool = self.pool.size, self.pool
        for i in range(self.n_tokens // size, len(self.table)):
            if pool.uses[self.table[i]] > 1:
                mine = pool.take()
                pool.memory[:, :, mine] = pool.memory[:, :, self.table[i]]
                pool.give_back(self.table[i])
                self.table[i] = mine
        while len(self.table) * size < self.n_tokens + n_new:
            self.table.append(pool.take())

    def extend(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write new keys and values (kv_head, token, d_head), and return all of the request."""
        n = self.n_tokens + k.shape[-2]
        position = torch.arange(self.n_tokens, n)
        page = torch.tensor(self.table)[position // self.pool.size]
        slot = position % self.pool.size
        keys, values = self.pool.memory[layer]
        keys[page, :, slot], values[page, :, slot] = k.transpose(0, 1), v.transpose(0, 1)
        k, v = (
            kept[self.table].transpose(0, 1).flatten(1, 2)[:, :n] for kept in (keys, values)
        )
        return k, v

    def advance(self, ids: Sequence[int]) -> None:
        """Count new tokens, whose keys and values every layer has written by now."""
        size, full = self.pool.size, self.n_tokens // self.pool.size
        self.ids = [*self.ids, *ids]
        for i in range(full, self.n_tokens // size):
            self.pool.page_of.setdefault(tuple(self.ids[: (i + 1) * size]), self.table[i])

    def crop(self, n_tokens: int) -> None:
        """Forget all tokens but the first ``n_tokens``, and give back pages that are empty."""
        if not 0 <= n_tokens <= self.n_tokens:
            raise ValueError(
                f"n_tokens={n_tokens}, and {self.n_tokens} are kept; crop to one of 0 to that."
            )
        size, table = self.pool.size, self.table
        for page in table[n_tokens // size :]:
            if self.pool.uses[page] == 1:
                self.pool.forget(page)
        n_pages = -(-n_tokens // size)
        for page in table[n_pages:]:
            self.pool.give_back(page)
        self.table, self.ids = table[:n_pages], self.ids[:n_tokens]

    def fork(self) -> "PagedCache":
        """Return another request that goes on from here: the table is copied, and no page."""
        other = PagedCache(self.pool)
        other.table = [self.pool.share(page) for page in self.table]
        other.ids = [*self.ids]
        return other

    def release(self) -> None:
        """Give all pages back; what they hold can be found until they are taken again."""
        for page in self.table:
            self.pool.give_back(page)
        self.table, self.ids = [], []
