"""Faults that are known and not mended yet. Each line goes when its fault goes.

A pattern is searched in the key of a finding: target | way | what. ``case`` shows the fault;
``test_attack.py`` fails, in its slow part, once it does not: then the line is to be deleted.
``fault`` is the row of the list of findings, or says it.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    fault: str
    pattern: str
    case: str


KNOWN: tuple[Known, ...] = (
    # findings.md §6, by row
    Known("1", r"trace \| compiled \| y: wrong", "trace:269445586"),
    Known("2", r"fused \| hooks \| y: wrong", "fused:819916932"),
    Known("2", r"fused \| replaced \| y: wrong", "fused:164676247"),
    Known("2", r"fused \| replaced \| raised AttributeError: 'Adapted'", "fused:6386315"),
    Known("2", r"fused \| replaced in five stages \| raised Attr", "fused:810796021"),
    Known("3", r"fused \| functional_call \| y: wrong", "fused:62541127"),
    Known("4", r"transform (hvp|penalty) \| \w+: wrong", "fused:398284462"),
    Known("4", r"transform hvp \| raised RuntimeError: The diff", "fused:262366191"),
    Known("5", r"transform (jvp\w*|dual) \| \w+: wrong", "fused:719328551"),
    Known("7", r"fused \| checkpoint with dropout \| recomputed", "fused:443740596"),
    Known("10", r"caches \| .* after a failed announced call", "caches:179323612"),
    Known("18", r"trace \| threads", "trace:656369675"),
    Known("20", r"fused \| .* \| dtype of y: torch.bfloat#, not", "fused:176354861"),
    Known("22", r"fused \| built elsewhere \| raised RuntimeError", "fused:82138754"),
    Known("23", r"transform \w+ \| .*override the setup_context", "fused:590916542"),
    Known("27", r"raised IndexError: list index out of range at kernels", "fused:597527546"),
    Known("28", r"fused \| .* \| gradient of \w+ is None", "fused:889191797"),
    Known("2, 11–13, §5.1–5, 13", r"convert \| .*y: wrong by", "convert:508890583"),
    Known(
        "11–13, 24",
        r"convert \| .*raised (Attribute|Runtime|Key|Type)Error",
        "convert:557925924",
    ),
    Known("13, 24", r"convert \| .*refused without a reason: KeyError", "convert:493516094"),
    Known("13", r"convert \| .*requires_grad: frozen became", "convert:618777517"),
    Known("§5.13", r"convert \| unshared.* training: True", "convert:987295586"),
    # found by this attack
    Known("a copy made in a block keeps its hooks", r"trace \| copied", "trace:647371592"),
    Known(
        "a cache made in inference mode cannot be written to outside of it",
        r"caches \| .*mixed modes \| raised RuntimeError: Inplace update to inference",
        "caches:654249767",
    ),
    Known(
        "positions are made on the default device, not on the CPU",
        r"caches \| .*(meta tensor|device meta)",
        "caches:314394982",
    ),
    Known(
        "under inference mode a trace changes the last bit of y",
        r"trace \| .* \| y inside: not bit for bit",
        "trace:550086673",
    ),
    Known(
        "aligned in bfloat16: a raw error of the singular values",
        r"convert \| aligned.*linalg_svd_cpu",
        "convert:549146152",
    ),
)


def known(key: str) -> Known | None:
    """The known fault that a finding of this key is, None for a new one."""
    return next((each for each in KNOWN if re.search(each.pattern, key)), None)
