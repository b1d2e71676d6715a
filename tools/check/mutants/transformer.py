"""Mistakes in `mhsa_lib/transformer`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "transformer: the norm stands behind the part",
        "transformer/layers.py",
        "        x = x + self.self_attention(self.self_attention_norm(x), mask=mask)\n"
        "        return x +",
        "        x = self.self_attention_norm(x + self.self_attention(x, mask=mask))\n"
        "        return x +",
        "transformer/layers",
    ),
    Mutant(
        "transformer: no residual around cross-attention",
        "transformer/layers.py",
        "x = x + self.cross_attention(",
        "x = self.cross_attention(",
        "transformer/layers",
    ),
    Mutant(
        "transformer: GELU in the place of ReLU",
        "transformer/layers.py",
        "nn.ReLU() if activation is None",
        "nn.GELU() if activation is None",
        "transformer/layers",
    ),
    Mutant(
        "transformer: an activation that is passed in is not used",
        "transformer/layers.py",
        "nn.ReLU() if activation is None else activation",
        "nn.ReLU()",
        "transformer/layers",
    ),
    Mutant(
        "transformer: cross-attention sees the source's padding",
        "transformer/layers.py",
        "memory, mask=memory_mask)",
        "memory)",
        "transformer/model",
    ),
    Mutant(
        "transformer: the encoder sees its padding",
        "transformer/model.py",
        "stream = layer(stream, mask)",
        "stream = layer(stream)",
        "transformer/model",
    ),
    Mutant(
        "transformer: the decoder looks ahead",
        "transformer/model.py",
        "memory.rows, masks.causal, memory.mask",
        "memory.rows, None, memory.mask",
        "transformer/model",
    ),
    Mutant(
        "transformer: the memory is not normalised",
        "transformer/model.py",
        "return Memory(self.encoder_norm(stream), mask)",
        "return Memory(stream, mask)",
        "transformer/stacks",
    ),
    Mutant(
        "transformer: the target is embedded without its positions",
        "transformer/model.py",
        "self.tokens(ids) + self.positions.weight[first:last]",
        "self.tokens(ids)",
        "transformer/model",
    ),
    Mutant(
        "transformer: a step stands at the first position",
        "transformer/decoding.py",
        "memory, first=n_before)",
        "memory)",
        "transformer/decoding",
    ),
    Mutant(
        "transformer: the memory is projected at every step",
        "transformer/decoding.py",
        "            stack.enter_context(remember_context(layer.cross_attention))",
        "            layer.cross_attention",
        "transformer/decoding",
    ),
    Mutant(
        "transformer: a sentence that has ended goes on",
        "transformer/decoding.py",
        ".masked_fill(ended, PAD)",
        "",
        "transformer/decoding",
    ),
    Mutant(
        "transformer: all stop with the first sentence",
        "transformer/decoding.py",
        "not ended.all():",
        "not ended.any():",
        "transformer/decoding",
    ),
    Mutant(
        "transformer: PAD may be said",
        "transformer/decoding.py",
        "torch.tensor([PAD, BOS]",
        "torch.tensor([BOS]",
        "transformer/decoding",
    ),
    Mutant(
        "transformer: the target is not shifted",
        "transformer/ids.py",
        "return torch.cat([begin, target[..., :-1]], dim=-1), target",
        "return torch.cat([begin, target[..., 1:]], dim=-1), target",
        "transformer/ids",
    ),
    Mutant(
        "transformer: padding counts in the loss",
        "transformer/ids.py",
        ", ignore_index=PAD)",
        ")",
        "transformer/ids",
    ),
    Mutant(
        "transformer: a word behind padding is taken",
        "transformer/ids.py",
        "if not torch.equal(real, place < lengths[..., None]):",
        "if not torch.equal(real.sum(dim=-1), lengths):",
        "transformer/errors",
    ),
    Mutant(
        "transformer: a target without BOS is taken",
        "transformer/model.py",
        "        _begins(target, first)\n",
        "",
        "transformer/errors",
    ),
]
