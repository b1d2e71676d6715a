"""Mistakes in `mhsa_book/models`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "SHA-256 not compared",
        "pretrained/minilm.py",
        "if digest != official:",
        "if False:",
        "pretrained/minilm/files",
    ),
    Mutant(
        "only the weight file is verified",
        "pretrained/minilm.py",
        "    for file in FILES:\n",
        '    for file in ["model.safetensors"]:\n',
        "pretrained/minilm/files",
    ),
    Mutant(
        "512 tokens are too many",
        "pretrained/minilm.py",
        "if len(ids) > self.max_tokens:",
        "if len(ids) >= self.max_tokens:",
        "pretrained/minilm/hard_texts",
    ),
    Mutant(
        "an empty text has two tokens",
        "pretrained/minilm.py",
        "if len(ids) <= 2:",
        "if len(ids) < 2:",
        "pretrained/minilm/hard_texts",
    ),
    Mutant(
        "vectors start at the output of layer 0",
        "pretrained/minilm.py",
        "torch.cat(out.hidden_states)",
        "torch.cat(out.hidden_states[1:])",
        "pretrained/minilm/model",
    ),
    Mutant(
        "a layer of BERT forgets what it was given",
        "pretrained/layer.py",
        "self.attention_norm(x + self.attention(x))",
        "self.attention_norm(self.attention(x))",
        "pretrained/minilm/layers",
    ),
    Mutant(
        "the untrained model is the same for every seed",
        "pretrained/minilm.py",
        "        torch.manual_seed(seed)\n",
        "        torch.manual_seed(0)\n",
        "pretrained/minilm/layers",
    ),
    Mutant(
        "translator: another file is taken for its own",
        "pretrained/translator.py",
        "if digest != SHA256:",
        "if not digest:",
        "pretrained/translator",
    ),
]
