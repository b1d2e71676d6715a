"""Every attention that the battery tests: ``VARIANTS``, and of these the ``STAGED`` ones.

A variant joins by an entry in a file beside this one, ``battery_<name>.py``.
"""

from importlib import import_module
from pathlib import Path

import pytest

from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention
from mhsa_lib.stages import Stage
from tests.mhsa_lib.variants.entry import Variant


def _same(attention: MultiHeadAttention) -> MultiHeadAttention:
    copy = MultiHeadAttention(
        attention.d_model,
        attention.n_heads,
        d_head=attention.d_head,
        bias=attention.W_O.bias is not None,
    ).to(attention.W_O.weight)
    copy.load_state_dict(attention.state_dict())
    return copy


VARIANTS = [
    Variant("MultiHeadAttention", lambda: MultiHeadAttention(12, 3, bias=True), _same),
    Variant("free d_head", lambda: MultiHeadAttention(12, 3, d_head=5), _same),
    Variant(
        "FusedMultiHeadAttention",
        lambda: FusedMultiHeadAttention(12, 3, bias=True),
        FusedMultiHeadAttention.from_attention,
    ),
]
for file in sorted(Path(__file__).parent.glob("battery_*.py")):
    VARIANTS += import_module(f"tests.mhsa_lib.variants.{file.stem}").VARIANTS
STAGED = [variant for variant in VARIANTS if isinstance(variant.build(), Stage)]
every = pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
staged = pytest.mark.parametrize("variant", STAGED, ids=lambda variant: variant.name)
