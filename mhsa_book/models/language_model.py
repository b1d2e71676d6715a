"""A language model that can be asked, watched and taken apart, head by head."""

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from mhsa_book.models import attribution, path_patching, switching
from mhsa_book.models.attribution import Contributions
from mhsa_book.models.memory import available_bytes
from mhsa_book.models.path_patching import Receiver
from mhsa_book.models.running import Runner
from mhsa_book.models.switching import Head, Switches
from mhsa_book.transformer.decoder_only import DecoderOnly
from mhsa_lib.functional import share_heads
from mhsa_lib.rope.rotary import token_positions
from mhsa_lib.variants.grouped import GroupedQueryAttention


@runtime_checkable
class Tokenizer(Protocol):
    """What a language model needs of a tokenizer; ``BytePairs`` is one."""

    spellings: list[str]
    """One for every id, no two alike."""

    def ids(self, text: str) -> list[int]:
        """Ids of the tokens of a text."""

    def text(self, ids: Sequence[int]) -> str:
        """The text of these tokens."""


class LanguageModel:
    """A language model: it says which token comes next, and every head can be looked at.

    A token is spelled with the space in front of it: " Mary". ``name``, ``n_layers``,
    ``n_heads``, ``n_kv_heads``, ``d_model`` and ``d_head`` describe the model; a text has at
    most ``max_tokens``. All methods that take a text raise ``TypeError`` for anything else, and
    ``ValueError`` for one without tokens, with too many, or with half of a character.

    Parameters
    ----------
    name : what it is called in messages
    decoder : the model itself, in evaluation mode
    tokenizer : its tokens
    max_tokens : the longest text
    end : id of the token with which a text ends; None where there is none

    Examples
    --------
    >>> from mhsa_book import models
    >>> lm = models.load("SmolLM2-135M")
    >>> lm
    SmolLM2-135M: 30 layers of 9 heads, every 3 of which share a KV head
    >>> lm.tokens("The capital of France is")
    ['The', ' capital', ' of', ' France', ' is']
    >>> lm.next("The capital of France is", k=1)[0][0]
    ' Paris'
    >>> lm.generate("The capital of France is", 2)
    ' Paris.'
    >>> tokens, weights = lm.attend("The capital of France is")
    >>> weights.shape  # (layer, head, query, key)
    torch.Size([30, 9, 5, 5])
    """

    def __init__(
        self,
        name: str,
        decoder: DecoderOnly,
        tokenizer: Tokenizer,
        *,
        max_tokens: int,
        end: int | None = None,
    ) -> None:
        self.name, self.max_tokens = name, max_tokens
        self._tokenizer, self._end = tokenizer, end
        self._runner = Runner(decoder)
        self._switches = Switches(self._runner)
        attention: Any = decoder.layers[0].attention
        self.n_layers: int = len(decoder.layers)
        self.n_heads: int = attention.n_heads
        self.n_kv_heads: int = attention.n_kv_heads
        self.d_model: int = attention.d_model
        self.d_head: int = attention.d_head
        self._ids_of = {token: i for i, token in enumerate(tokenizer.spellings)}

    def __repr__(self) -> str:
        group = self.n_heads // self.n_kv_heads
        shared = "" if group == 1 else f", every {group} of which share a KV head"
        return f"{self.name}: {self.n_layers} layers of {self.n_heads} heads{shared}"

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text, as they are spelled; a text without any gives none.

        Joined they are the text again, but for characters that are cut into bytes: those of
        such a token are written out, as in "<0xF0><0x9F>".
        """
        return self._spelled(self.ids(text))

    def ids(self, text: str) -> list[int]:
        """The places of the tokens of a text in the vocabulary."""
        if not isinstance(text, str):
            raise TypeError(f"text is a {type(text).__name__}; pass one string.")
        return self._tokenizer.ids(text)

    def text(self, ids: Sequence[int]) -> str:
        """The text of these tokens; bytes that are no whole character become U+FFFD."""
        return self._tokenizer.text(ids)

    def id(self, token: str) -> int:
        """The place of one token in the vocabulary; ``ValueError`` for what is no token."""
        if token not in self._ids_of:
            cut = self.tokens(token)
            raise ValueError(
                f"{token!r} is no token of {self.name}, which reads {cut}; pass one token, "
                f"with the space in front of it, as tokens() spells it."
            )
        return self._ids_of[token]

    def vocabulary(self) -> list[str]:
        """Every token, as it is spelled, in the order of the ids."""
        return [*self._tokenizer.spellings]

    @torch.no_grad()
    def logits(self, text: str) -> Tensor:
        """What comes after each token of the text: logits (token, vocabulary).

        Raises ``MemoryError`` for a text that is so long that they do not fit.
        """
        ids = self._begun(text)
        self._check_room("logits", len(ids), len(ids) * len(self._ids_of))
        return self._unembed(self._runner.stream(ids)[0])

    @torch.no_grad()
    def next(self, text: str, k: int = 5) -> list[tuple[str, float]]:
        """The ``k`` likeliest next tokens and their probabilities, the likeliest first."""
        if not 1 <= operator.index(k) <= len(self._ids_of):
            raise ValueError(f"k={k} tokens; there are 1 to {len(self._ids_of)} of them.")
        last = self._runner.stream(self._begun(text))[0, -1]
        most = self._unembed(last).softmax(dim=-1).topk(k)
        tokens = self._spelled(most.indices.tolist())
        return [*zip(tokens, most.values.tolist(), strict=True)]

    @torch.no_grad()
    def attend(self, text: str) -> tuple[list[str], Tensor]:
        """Tokens of the text and every head's weights (layer, head, query, key).

        Raises ``MemoryError`` for a text that is so long that they do not fit, and
        ``ValueError`` where a layer is replaced.
        """
        self._all_ours("its weights are not seen")
        ids = self._begun(text)
        self._check_room("weights", len(ids), self.n_layers * self.n_heads * len(ids) ** 2)
        with self._runner.listening("attend.weights") as found:
            self._runner.stream(ids)
        return self._spelled(ids), torch.cat(found)

    def attend_each(self, texts: Sequence[str]) -> list[tuple[list[str], Tensor]]:
        """What ``attend`` gives for each of the texts; those of one length are read together.

        Raises as ``attend`` does, and ``ValueError`` while heads are off.
        """
        if isinstance(texts, str):
            raise TypeError(f"texts is one string; pass a list of texts, [{texts!r}, …].")
        self._all_ours("its weights are not seen")
        if self._switches.off:
            off = sorted(self._switches.off)
            raise ValueError(f"heads {off} are off; read one text at a time, with attend().")
        ids = [self._text(text) for text in texts]
        pairs = sum(len(one) ** 2 for one in ids)
        self._check_room("weights", sum(map(len, ids)), self.n_layers * self.n_heads * pairs)
        found = self._runner.heads_of(ids, range(self.n_layers), "attend.weights")
        of_text = zip(*found.values(), strict=True)
        return [(self._spelled(i), torch.stack(w)) for i, w in zip(ids, of_text, strict=True)]

    @torch.no_grad()
    def generate(self, text: str, n: int, cache: bool = True) -> str:
        """Write on, ``n`` tokens or up to the end of the text, always with the likeliest token.

        Returns the new text; bytes that are no whole character become U+FFFD. With ``cache``
        every step reads one token and remembers keys and values of all others; without, it
        reads the whole text again. The tokens are the same.
        """
        if operator.index(n) < 1:
            raise ValueError(f"n={n} tokens; write at least 1.")
        ids, new = self._begun(text, n), list[int]()
        with self._runner.remembering(len(ids) + n) if cache else nullcontext() as past:
            while len(new) < n:
                # With a cache the first pass reads the text, and all others the last token.
                first = len(ids) + len(new) - 1 if cache and new else 0
                last = self._runner.stream([*ids, *new][first:], past, first)[0, -1]
                chosen = int(self._unembed(last).argmax())
                if chosen == self._end:
                    break
                new.append(chosen)
        return self._tokenizer.text(new)

    # --- taken apart ---------------------------------------------------------------------

    def attention(self, layer: int) -> GroupedQueryAttention:
        """The attention of a layer in our five stages: the model's own, not a copy.

        What ``trace`` sees and ``edit`` changes in it, and what is done to its weights, is seen
        and changed in the model.
        """
        return self._runner.layers[self._layer(layer)].attention

    def heads(self, text: str) -> Tensor:
        """What every head found at every token, its z: (layer, head, query, d_head).

        Raises ``ValueError`` where a layer is replaced.
        """
        self._all_ours("its heads are not seen")
        return self._runner.heads(self._begun(text))

    @contextmanager
    def without(
        self,
        heads: Sequence[Head],
        how: str = "zero",
        over: Sequence[str] | None = None,
        seed: int = 0,
    ) -> Iterator[None]:
        """Switch heads off, each given as (layer, head), while the block runs.

        What such a head found, its z, is replaced at every token of every text:

        - ``"zero"``: by zeros.
        - ``"mean"``: by its mean over all tokens of the prompts in ``over``.
        - ``"resample"``: by what it found at the same position in one of the prompts in
          ``over``, which is drawn anew for every text that is asked, the same for all heads of
          the block, and is another text, and not a shorter one. ``seed`` says which.

        What heads find in ``over`` is measured with all heads on. Blocks may be nested, for
        different heads. All methods work inside; ``patch`` is refused.

        Raises ``ValueError`` for heads that do not exist, are off already, or whose layer is
        replaced, for another ``how``, and for "mean" and "resample" without ``over``.
        """
        pairs = [self._head("heads", head) for head in heads]
        texts = [self._text(text) for text in switching.checked_over(how, over)]
        if pairs or texts:
            self._all_ours("it has no heads to switch off")
        with self._switches.without([*dict.fromkeys(pairs)], how, texts, seed):
            yield

    def contributions(self, text: str, token: str) -> Contributions:
        """What every head, every MLP and the embedding add to the logit of a next token.

        Direct logit attribution: the last norm's scale is held fixed, and then the shares sum
        to the logit. What later layers make of a head's output counts as theirs. Raises
        ``ValueError`` for what is no token (``id``), and where a layer is replaced.

        Source: Elhage et al., "A Mathematical Framework for Transformer Circuits", 2021.
        """
        self._all_ours("its heads add nothing that is seen")
        return attribution.contributions(self._runner, self._begun(text), self.id(token))

    @torch.no_grad()
    def points_to(self, row: Tensor, k: int = 5) -> list[str]:
        """Return the ``k`` tokens whose logits a row (d_model) raises most.

        The row is something that is added to the last row, such as what a head writes. Only
        its direction counts: the last norm's gain is applied, and its division by a length is
        not, since that changes no order. ``points_to(-row)`` are the tokens that it lowers
        most. Raises ``ValueError`` for a row of another size or for too large a ``k``.

        Source: nostalgebraist, "Interpreting GPT: the Logit Lens", 2020.
        """
        if row.shape != (self.d_model,):
            raise ValueError(
                f"row is {tuple(row.shape)}; pass one row of {self.d_model} numbers."
            )
        if not 1 <= operator.index(k) <= len(self._ids_of):
            raise ValueError(f"k={k} tokens; there are 1 to {len(self._ids_of)} of them.")
        norm, table = self._runner.decoder.norm, self._runner.decoder.embed.weight
        return self._spelled((table @ (norm.weight * row)).topk(k).indices.tolist())

    def patch(self, source: str, target: str, sender: Head, receiver: Receiver) -> Tensor:
        """Let one head tell one other what it found in another text: path patching.

        Returns the logits after ``target`` (vocabulary), in a pass in which what the head
        ``sender`` (layer, head) found is that of ``source``, as far as it reaches ``receiver``
        directly: through the stream and the MLPs behind it, and through no other head. All
        other heads are held at what they found in ``target`` until there. The receiver is
        "logits", or (layer, head, "q"), the queries of a head, or its keys ("k") or values
        ("v"). Of a KV head that several heads share, only this one reads the new keys or
        values. Behind the receiver everything is computed as always. Compare with
        ``logits(target)[-1]``.

        Raises ``ValueError`` for texts of different numbers of tokens, a receiver that is not
        behind the sender, heads that do not exist, and while heads are off or layers replaced.

        Source: Wang et al., "Interpretability in the Wild", section 3.1, arXiv 2211.00593.
        """
        self._all_ours("no path goes through it")
        if self._switches.off:
            raise ValueError(f"heads {sorted(self._switches.off)} are off; patch outside.")
        sender = self._head("sender", sender)
        self._check_receiver(sender[0], receiver)
        ids = self._begun(source), self._begun(target)
        if len(ids[0]) != len(ids[1]):
            raise ValueError(
                f"source has {len(ids[0])} tokens and target {len(ids[1])}, so their positions "
                f"do not correspond; write texts of one length: {self._spelled(ids[0])}, "
                f"{self._spelled(ids[1])}."
            )
        return path_patching.patched(self._runner, *ids, sender, receiver)

    # --- an attention of your own --------------------------------------------------------

    def replace(self, layer: int, module: Callable[..., Tensor]) -> "Replacement":
        """Put an attention of your own into a layer; it stands there at once.

        It is called as ``module(x, mask)``: x (batch, seq, d_model) comes from the norm, mask
        (query, key) is boolean, True = may attend, and y like x is returned. The way back is
        ``undo()`` of what this returns, or the end of a ``with`` block around it.

        A module whose call has a parameter ``positions`` is given those of the tokens in x,
        (seq), and works with ``generate(…, cache=True)``: the first call has the whole text,
        and each one after it one more token, with a mask (1, all tokens so far). It has to keep
        the keys and values of earlier calls itself, and to forget them when positions begin
        with 0; where it does not, that is noticed. Another module is refused with a cache.

        Raises ``TypeError`` for what cannot be called, and ``ValueError`` where a head of the
        layer is off.
        """
        self._layer(layer)
        if not callable(module):
            raise TypeError(f"module is a {type(module).__name__}; pass what can be called.")
        if off := sorted(head for head in self._switches.off if head[0] == layer):
            raise ValueError(f"heads {off} are off; replace their layer outside of that block.")
        return Replacement(self._runner.replaced, layer, module)

    def weights(self, layer: int) -> dict[str, Tensor]:
        """Copies of W_Q, W_K, W_V and W_O of a layer, each (in, out): q is ``x @ W_Q``.

        KV heads are repeated, one for every query head, so all are (d_model, d_model).
        """
        attention = self.attention(layer)
        project, kv_heads = attention.project, (self.n_kv_heads, self.d_head)
        found = {"W_Q": project.W_Q.weight}
        for name, W in {"W_K": project.W_K, "W_V": project.W_V}.items():
            heads = share_heads(W.weight.unflatten(0, kv_heads), self.n_heads)
            found[name] = heads.flatten(0, 1)
        found["W_O"] = attention.W_O.weight
        return {name: weight.detach().T.clone() for name, weight in found.items()}

    def rotate(
        self, q: Tensor, k: Tensor, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Rotate queries and keys (…, seq, d_head) by their positions, as the model does.

        ``positions`` (seq) are those of both; counted from 0 when not given, the queries last.
        """
        rotary: Any = self._runner.layers[0].attention.split.rotary
        query, key = token_positions(positions, q.shape[-2], k.shape[-2], k)
        return rotary(q, query), rotary(k, key)

    # --- what is given -------------------------------------------------------------------

    def _unembed(self, stream: Tensor) -> Tensor:
        return self._runner.decoder.unembed(stream)

    def _begun(self, text: str, n_more: int = 0) -> list[int]:
        """Ids of a text with which a pass begins, to be written on with ``n_more`` tokens."""
        ids = self._text(text, n_more)
        self._switches.begin(ids, len(ids) + n_more)
        return ids

    def _text(self, text: str, n_more: int = 0) -> list[int]:
        ids = self.ids(text)
        if not ids:
            raise ValueError(f"text {text!r} has no tokens; write at least one letter.")
        if len(ids) + n_more > self.max_tokens:
            behind = f" and {n_more} new ones" if n_more else ""
            raise ValueError(
                f"text has {len(ids)} tokens{behind}, {self.name} reads at most "
                f"{self.max_tokens}; shorten it."
            )
        return ids

    def _spelled(self, ids: Sequence[int]) -> list[str]:
        return [self._tokenizer.spellings[i] for i in ids]

    def _layer(self, layer: int) -> int:
        if isinstance(layer, bool) or not isinstance(layer, int):
            raise TypeError(f"layer={layer!r} is not a whole number.")
        if not 0 <= layer < self.n_layers:
            raise ValueError(
                f"layer={layer} does not exist; {self.name} has 0 to {self.n_layers - 1}."
            )
        return layer

    def _head(self, name: str, given: Any) -> Head:
        """A layer and a head that exist, as a pair of plain numbers."""
        try:
            layer, head = (operator.index(number) for number in given)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name}: {given!r} is no head; write (layer, head).") from error
        if not (0 <= layer < self.n_layers and 0 <= head < self.n_heads):
            raise ValueError(
                f"{name}: there is no head {(layer, head)}; {self.name} has layers 0 to "
                f"{self.n_layers - 1} with heads 0 to {self.n_heads - 1}."
            )
        return layer, head

    def _check_receiver(self, sender_layer: int, receiver: Any) -> None:
        if receiver == "logits":
            return
        if not isinstance(receiver, tuple) or receiver[2:] not in {("q",), ("k",), ("v",)}:
            raise ValueError(
                f"receiver={receiver!r}; pass 'logits', or (layer, head, 'q'), 'k' or 'v'."
            )
        layer, _ = self._head("receiver", receiver[:2])
        if layer <= sender_layer:
            raise ValueError(
                f"the receiver is in layer {layer} and hears nothing of layer {sender_layer}; "
                f"it has to be behind the sender."
            )

    def _all_ours(self, why: str) -> None:
        if replaced := sorted(self._runner.replaced):
            raise ValueError(f"layers {replaced} are replaced: {why}; undo() that first.")

    def _check_room(self, what: str, n_tokens: int, n_numbers: int) -> None:
        """Raise where tensors with so many numbers would not fit twice."""
        needed, available = 2 * 4 * n_numbers, available_bytes()
        if available is not None and needed > available:
            raise MemoryError(
                f"the {what} for {n_tokens:,} tokens need {needed / 1e9:.1f} GB, and "
                f"{available / 1e9:.1f} GB are available; shorten the text."
            )


class Replacement:
    """An attention of a reader's own in a layer, until ``undo`` or the end of a with block."""

    def __init__(self, replaced: dict[int, Any], layer: int, module: Any) -> None:
        self._replaced, self._layer, self._module = replaced, layer, module
        self._before = replaced.get(layer)
        replaced[layer] = module

    def undo(self) -> None:
        """Put back what was there before; nothing happens if that was done already."""
        if self._replaced.get(self._layer) is not self._module:
            return
        if self._before is None:
            del self._replaced[self._layer]
        else:
            self._replaced[self._layer] = self._before

    def __enter__(self) -> "Replacement":
        return self

    def __exit__(self, *error: object) -> None:
        self.undo()
