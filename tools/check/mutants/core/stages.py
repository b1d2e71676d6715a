"""Mistakes in `mhsa_lib/stages`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "keys of any context read d_model columns",
        "stages.py",
        "self.W_K = nn.Linear(d_context, d_kv_heads",
        "self.W_K = nn.Linear(d_model, d_kv_heads",
        "attention/oracles",
    ),
    Mutant(
        "dropout before the weights wire",
        "stages.py",
        "return self.weights(F.softmax(scores, mask))",
        "return self.weights(self.dropout(F.softmax(scores, mask)))",
        "stages",
    ),
    Mutant(
        "dropout forgotten",
        "stages.py",
        "F.mix(self.dropout(weights), v)",
        "F.mix(weights, v)",
        "stages",
    ),
    Mutant(
        "mask resolved but not used",
        "stages.py",
        "F.softmax(scores, mask)",
        "F.softmax(scores)",
        "stages",
    ),
    Mutant("W_V reads x", "stages.py", "self.W_V(context)", "self.W_V(x)", "stages"),
    Mutant("W_K reads x", "stages.py", "self.W_K(context)", "self.W_K(x)", "stages"),
    Mutant(
        "the keys' heads are taken for values",
        "stages.py",
        "F.split_heads(v, self.n_heads)",
        "F.split_heads(k, self.n_heads)",
        "stages",
    ),
]
