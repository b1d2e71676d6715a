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
    Known("1", r"trace \| compiled \| y: wrong", "trace:903557605"),
    Known("2", r"fused \| hooks \| y: wrong", "fused:766934461"),
    Known("2", r"fused \| replaced \| y: wrong", "fused:347203478"),
    Known("2", r"fused \| replaced \| raised AttributeError: 'Adapted'", "fused:854140407"),
    Known("2", r"fused \| replaced in five stages \| raised Attr", "fused:757141037"),
    Known("3", r"fused \| functional_call \| y: wrong", "fused:528531393"),
    Known("4", r"transform (hvp|penalty) \| \w+: wrong", "fused:204675601"),
    Known("4", r"transform hvp \| raised RuntimeError: The diff", "fused:582901911"),
    Known("5", r"transform (jvp\w*|dual) \| \w+: wrong", "fused:196503186"),
    Known("10", r"caches \| .* after a failed announced call", "caches:452856406"),
    Known("18", r"trace \| threads", "trace:615974618"),
    Known(
        "20", r"fused \| .* \| dtype of y: torch.bfloat#, not torch.float#", "fused:918841421"
    ),
    Known("22", r"fused \| built elsewhere \| raised RuntimeError", "fused:629649790"),
    Known("23", r"transform \w+ \| .*override the setup_context", "fused:538323913"),
    Known("27", r"raised IndexError: list index out of range at kernels", "fused:794337824"),
    Known("28", r"fused \| .* \| gradient of \w+ is None", "fused:996539165"),
    Known("2, 11–13, §5.1–5, 13", r"convert \| .*y: wrong by", "convert:246809803"),
    Known(
        "11–13, 24", r"convert \| .*raised (Attribute|Runtime|Key)Error", "convert:809806973"
    ),
    Known("13, 24", r"convert \| .*refused without a reason: KeyError", "convert:137012006"),
    Known("13", r"convert \| .*requires_grad: frozen became", "convert:801153256"),
    Known("§5.13", r"convert \| unshared.* training: True", "convert:556804202"),
    # found by this attack
    Known("a copy made in a block keeps its hooks", r"trace \| copied", "trace:770733880"),
    Known(
        "a cache made in inference mode cannot be written to outside of it",
        r"caches \| .*mixed modes \| raised RuntimeError: Inplace update to inference",
        "caches:159363679",
    ),
    Known(
        "positions are made on the default device, not on the CPU",
        r"caches \| .*(meta tensor|device meta)",
        "caches:372769699",
    ),
    Known(
        "in bfloat16, a band is made on the default device",
        r"fused \| defaults \| raised (Runtime|NotImplemented)Error: .*meta",
        "",
    ),
    Known(
        "aligned in bfloat16: a raw error of the singular values",
        r"convert \| aligned.*linalg_svd_cpu",
        "convert:194986835",
    ),
)


def known(key: str) -> Known | None:
    """The known fault that a finding of this key is, None for a new one."""
    return next((each for each in KNOWN if re.search(each.pattern, key)), None)
