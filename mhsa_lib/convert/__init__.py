"""Attention of PyTorch, BERT, GPT-2, Llama and DeepSeek, converted with its weights.

Each family is a map of names. Source and result are then run once on random input and compared
(``verify=False`` leaves that out). Only attention is converted: residual connections, LayerNorm
and dropout on the output stay behind with the block around it. What is frozen stays frozen.

Each function raises ``TypeError`` for a class that it does not know, and ``ValueError`` for
anything that was added to the source, such as adapters (merge them first), for parameters
without a place in ours, and with ``verify`` for a source that gives other numbers.
"""

from mhsa_lib.convert.bert import from_bert as from_bert
from mhsa_lib.convert.deepseek import from_deepseek as from_deepseek
from mhsa_lib.convert.gpt2 import from_gpt2 as from_gpt2
from mhsa_lib.convert.in_transformers import InTransformers as InTransformers
from mhsa_lib.convert.in_transformers import replace_attentions as replace_attentions
from mhsa_lib.convert.in_transformers import restore_attentions as restore_attentions
from mhsa_lib.convert.llama import from_llama as from_llama
from mhsa_lib.convert.llama import to_llama as to_llama
from mhsa_lib.convert.pytorch import from_torch as from_torch
from mhsa_lib.convert.pytorch import to_torch as to_torch
