"""Mistakes in `mhsa_lib/variants/gated`."""

from tools.check.mutant import Mutant

MUTANTS = [
    Mutant(
        "gated: the temperature makes a gate more often open",
        "variants/gated.py",
        "self._exact() - self.beta * math.log(odds)",
        "self._exact() + self.beta * math.log(odds)",
        "variants/gated/gates",
    ),
    Mutant(
        "gated: evaluation divides by the temperature",
        "variants/gated.py",
        "self._stretched(self._exact().sigmoid())",
        "self._stretched((self._exact() / self.beta).sigmoid())",
        "variants/gated/gates",
    ),
    Mutant(
        "gated: evaluation draws",
        "variants/gated.py",
        "self.drawn() if self.training else self.values()",
        "self.drawn()",
        "variants/gated/gates",
    ),
    Mutant(
        "gated: stretched to zeta only above",
        "variants/gated.py",
        "s * (self.zeta - self.gamma) + self.gamma",
        "s * self.zeta + self.gamma",
        "variants/gated/gates",
    ),
    Mutant(
        "gated: the temperature acts on the noise alone",
        "variants/gated.py",
        "((noise + log_alpha) / self.beta)",
        "(noise / self.beta + log_alpha)",
        "variants/gated/gates",
    ),
    Mutant(
        "gated: gates of the heads from the end",
        "variants/gated.py",
        "gates.to(z.dtype)[..., None, None] * z",
        "gates.to(z.dtype).flip(-1)[..., None, None] * z",
        "variants/gated/gates",
    ),
    Mutant(
        "gated: noise of half precision",
        "variants/gated.py",
        "self.log_alpha.to(torch.promote_types(self.log_alpha.dtype, torch.float32))",
        "self.log_alpha",
        "variants/gated/gates",
    ),
    Mutant(
        "gated: gates are not cut off",
        "variants/gated.py",
        ".clamp(0, 1)",
        "",
        "variants/gated/gates",
    ),
    Mutant(
        "gated: a gate starts half open",
        "variants/gated.py",
        "log_alpha: float = 3.0",
        "log_alpha: float = 0.0",
        "variants/gated/gates",
    ),
    Mutant(
        "gated: the penalty counts the gates that are fully open",
        "variants/gated.py",
        "return self._above(-self.gamma / self.zeta).sum()",
        "return self._above((1 - self.gamma) / (self.zeta - 1)).sum()",
        "variants/gated/gates",
    ),
    Mutant(
        "gated: a gate for other heads",
        "variants/gated.py",
        "if self.gate.n_heads != n_heads:",
        "if self.gate.n_heads < n_heads:",
        "variants/gated/errors",
    ),
]
