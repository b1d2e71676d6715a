"""Attention of PyTorch, BERT, GPT-2, Llama and DeepSeek, converted with its weights.

From PyTorch, BERT, GPT-2, Llama and DeepSeek there is one file each, with the stages that only
Llama's relatives have in ``llama_stages``; ``source`` reads what Hugging Face configurations
say. ``to_grouped`` pools the key and value heads of an attention into fewer, after ``align``
has made them comparable; ``prune`` removes heads.

Only attention is converted. Residual connections, LayerNorm and dropout on the output belong
to the block around it and stay behind; each function says what the result must equal. A source
is known by its class, and has to be bare: nothing replaced, nothing added (``accept.known``).
"""

from mhsa_lib.convert.bert import from_bert as from_bert
from mhsa_lib.convert.deepseek import from_deepseek as from_deepseek
from mhsa_lib.convert.gpt2 import from_gpt2 as from_gpt2
from mhsa_lib.convert.llama import from_llama as from_llama
from mhsa_lib.convert.pytorch import from_torch as from_torch
