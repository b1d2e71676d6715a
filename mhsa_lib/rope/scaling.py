"""Other frequencies of rotary positions, for texts longer than those of training.

A scaling, given to ``Rotary``, is a function of the frequencies (pair) of a head, fastest
first. If it has a ``magnitude``, all that is rotated grows by it, and scores by its square.

Sources: Chen et al., "Extending Context Window", section 2.3, arXiv 2306.15595 (linear); Peng
et al., "YaRN", section 3, arXiv 2309.00071; Grattafiori et al., "The Llama 3 Herd of Models",
section 3.2, arXiv 2407.21783.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class LinearScaling:
    """Every pair rotates ``factor`` times slower: positions are interpolated.

    >>> LinearScaling(4.0)(torch.tensor([1.0, 0.5])).tolist()
    [0.25, 0.125]
    """

    factor: float

    def __call__(self, frequencies: Tensor) -> Tensor:
        return frequencies / self.factor


@dataclass(frozen=True)
class Llama3Scaling:
    """Llama 3.1's frequencies for long texts: pairs that are slow become slower.

    Pairs that go round less than ``low`` times within ``length`` tokens become ``factor`` times
    slower, those above ``high`` times stay as they are; in between the two are blended.

    >>> Llama3Scaling(factor=8.0)(torch.tensor([1.0, 2**-13])).tolist() == [1.0, 2**-16]
    True
    """

    factor: float = 8.0
    low: float = 1.0
    high: float = 4.0
    length: int = 8192

    def __call__(self, frequencies: Tensor) -> Tensor:
        turns = self.length * frequencies / (2 * math.pi)
        # Pairs that never complete a round were not seen in full during training.
        kept = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)
        return frequencies * (kept + (1 - kept) / self.factor)


def yarn_magnitude(factor: float, weight: float = 1.0) -> float:
    """Return 0.1 · weight · ln(factor) + 1: over more keys distributions become flatter.

    >>> yarn_magnitude(1.0), round(yarn_magnitude(40.0), 4), yarn_magnitude(0.5)
    (1.0, 1.3689, 1.0)
    """
    return 0.1 * weight * math.log(factor) + 1 if factor > 1 else 1.0


@dataclass(frozen=True)
class YarnScaling:
    """YaRN: as Llama 3.1's, but blended by the number of the pair; queries and keys grow.

    Pairs that go round more than ``fast`` times within ``length`` tokens, those of a text in
    training, stay; those below ``slow`` become ``factor`` times slower; between their numbers,
    rounded outwards with ``truncate``, the blend is linear. ``base`` is that of the ``Rotary``,
    and ``attention_factor`` a magnitude other than ``yarn_magnitude(factor)``.

    >>> scaling = YarnScaling(factor=4.0, base=100.0, length=64, fast=8.0, slow=2.0)
    >>> plain = 100.0 ** (-torch.arange(4) / 4)
    >>> plain / scaling(plain), round(scaling.magnitude, 4)
    (tensor([1.0000, 1.6000, 4.0000, 4.0000]), 1.1386)
    """

    factor: float
    base: float = 10_000.0
    length: int = 4096
    fast: float = 32.0
    slow: float = 1.0
    truncate: bool = True
    attention_factor: float | None = None

    @property
    def magnitude(self) -> float:
        """Return the factor on queries and on keys."""
        given = self.attention_factor
        return yarn_magnitude(self.factor) if given is None else given

    def __call__(self, frequencies: Tensor) -> Tensor:
        n_pairs = len(frequencies)
        # The numbers of the pairs that go round so often within ``length`` tokens.
        low, high = (
            n_pairs * math.log(self.length / (turns * 2 * math.pi)) / math.log(self.base)
            for turns in (self.fast, self.slow)
        )
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        # The end is cut at the number of dimensions, not of pairs, because the authors' code
        # and all models that were trained with it do so.
        low, high = max(low, 0), min(high, 2 * n_pairs - 1)
        pair = torch.arange(n_pairs, device=frequencies.device, dtype=frequencies.dtype)
        # As in the authors' code: a step between two neighbouring pairs, not a division by 0.
        slower = ((pair - low) / (high - low or 0.001)).clamp(0, 1)
        return frequencies * (1 - slower) + frequencies / self.factor * slower
