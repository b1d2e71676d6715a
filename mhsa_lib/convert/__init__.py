"""Trained weights rewritten: from PyTorch, BERT, GPT-2, Llama, DeepSeek, and into variants.

From PyTorch, BERT, GPT-2, Llama and DeepSeek there is one file each, with the stages that only
Llama's relatives have in ``llama_stages``; ``source`` reads what Hugging Face configurations
say. To another form go the files ``to_…``; ``align`` and ``pairing`` change numbers and not the
function; ``prune`` removes heads; ``fill`` puts weights into a module of one's own.

Only attention is converted. Residual connections, LayerNorm and dropout on the output belong
to the block around it and stay behind; each function says what the result must equal. A source
is known by its class, and has to be bare: nothing replaced, nothing added (``accept.known``).
"""

from mhsa_book.conversions.fill import fill as fill
from mhsa_book.conversions.to_latent import mha_to_latent as mha_to_latent
from mhsa_lib.convert.bert import from_bert as from_bert
from mhsa_lib.convert.deepseek import from_deepseek as from_deepseek
from mhsa_lib.convert.gpt2 import from_gpt2 as from_gpt2
from mhsa_lib.convert.llama import from_llama as from_llama
from mhsa_lib.convert.pytorch import from_torch as from_torch
