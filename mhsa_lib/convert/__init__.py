"""Weights of other people's attention in our five stages: same numbers in, same numbers out.

Only attention is converted. Residual connections, LayerNorm and dropout on the output belong
to the block around it and stay behind; each function says what the result must equal. A source
is known by its class, and has to be bare: nothing replaced, nothing added (``known``).
"""

from mhsa_lib.convert.bert import from_bert as from_bert
from mhsa_lib.convert.deepseek import from_deepseek as from_deepseek
from mhsa_lib.convert.gpt2 import from_gpt2 as from_gpt2
from mhsa_lib.convert.llama import from_llama as from_llama
from mhsa_lib.convert.pytorch import from_torch as from_torch
from mhsa_lib.convert.to_latent import mha_to_latent as mha_to_latent
