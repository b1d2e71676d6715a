"""Attention of PyTorch, BERT, GPT-2, Llama and DeepSeek, converted with its weights.

Each family is a map of names: the configuration and the parameters of a source become ours.
Then source and result are run once on random input and compared (``verification``), so a
source needs a forward that works; ``verify=False`` leaves that out. ``prune`` removes heads,
``grouping`` merges key and value heads into fewer.

Only attention is converted. Residual connections, LayerNorm and dropout on the output belong
to the block around it and stay behind; each function says what the result must equal.
"""

from mhsa_lib.convert.bert import from_bert as from_bert
from mhsa_lib.convert.deepseek import from_deepseek as from_deepseek
from mhsa_lib.convert.gpt2 import from_gpt2 as from_gpt2
from mhsa_lib.convert.llama import from_llama as from_llama
from mhsa_lib.convert.pytorch import from_torch as from_torch
