"""Whatever attention there is to be found: it is converted rightly, or refused clearly."""

import copy
import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from peft.tuners.lora import layer as lora
from torch import nn
from transformers import BertConfig, GPT2Config
from transformers.models.bert import modeling_bert as bert
from transformers.models.gpt2 import modeling_gpt2 as gpt2

from mhsa_lib import convert
from tests.helpers.drawn import filled
from tests.helpers.needs import missing
from tests.mhsa_lib.convert import foreign, mutilated

pytestmark = pytest.mark.nohook  # the shape hook refuses a wrong Python type before we do

PEERS = Path(__file__).parents[3] / ".peers"

LISTED = Path(__file__).with_name("converted.txt")
"""What is converted, and equal to its source to 1e-5. A line may come, none may go."""

MODULES = foreign.modules()
N_STEPS = 12  # so that two workers share the walk


def listed() -> set[str]:
    return set(LISTED.read_text(encoding="utf-8").splitlines())


def steps(modules: list[str]) -> list[list[str]]:
    return [modules[step::N_STEPS] for step in range(N_STEPS)]


def walk() -> list[Any]:
    """Every module: now where something is converted, and a third of the others."""
    converts = {line.rsplit(".", 1)[0] for line in listed()}
    now = [module for module in MODULES if module in converts]
    others = [module for module in MODULES if module not in converts]
    later = [module for i, module in enumerate(others) if i % 3]
    return [
        *steps([*now, *others[::3]]),
        *(pytest.param(step, marks=pytest.mark.slow) for step in steps(later)),
    ]


def walked(module: str, found: list[str]) -> Iterator[str]:
    """Try every class of a module with every conversion, then with every mutilation.

    Yields what is wrong.
    """
    configs = foreign.configurations(module)
    for kind in foreign.attentions(importlib.import_module(module)):
        bare = foreign.built(kind, configs)
        for name, convert_it in foreign.CONVERSIONS.items():
            try:
                convert_it(bare, verify=False)  # on meta
            except (TypeError, ValueError) as error:
                if not foreign.refuses(str(error)):
                    yield f"{kind.__name__} by {name}, unclear: {error!r}"
                continue
            yield from changed(name, convert_it, partial(foreign.random, kind, configs))
            found.append(f"{kind.__module__}.{kind.__qualname__} {name}")


def changed(name: str, convert_it: Callable, build: Callable[[], nn.Module]) -> Iterator[str]:
    """The source as it is, then changed in every way; yields what is wrong."""
    for mutilate, allowed in {(lambda source: source): ("equal",), **mutilated.WAYS}.items():
        source = mutilate(build())
        if name == "from_torch" and mutilate in mutilated.OF_MAPS:
            allowed = ("equal",)  # torch reads the weights of out_proj and never calls it
        said = allowed[0] if source is None else foreign.outcome(name, convert_it, source)
        if said not in allowed:
            yield f"{type(source).__name__} by {name}, {mutilate.__name__}: {said}"


@pytest.mark.parametrize("modules", walk(), ids=lambda modules: f"{len(modules)} modules")
def test_attentions_of_transformers_are_converted_rightly_or_refused(modules):
    found: list[str] = []
    with foreign.quiet():
        wrong = [line for module in modules for line in walked(module, found)]
    print(*found, sep="\n")
    assert not wrong, "\n".join(wrong)
    assert set(found) == {line for line in listed() if line.rsplit(".", 1)[0] in modules}


TORCHS = "torch.nn.modules.activation.MultiheadAttention from_torch"


def test_attentions_of_torch_are_converted_rightly_or_refused():
    with foreign.quiet():
        kinds = {
            k
            for p in (torch.nn, torch.ao.nn)
            for m in foreign.below(p)
            for k in foreign.attentions(m)
        }
        assert {kind.__module__.split(".")[1] for kind in kinds} == {"nn", "ao"}
        for kind in kinds - {nn.MultiheadAttention}:
            refused(foreign.built(kind, []))
        for options in TORCH_OPTIONS:
            build = partial(of_torch, **options)
            wrong = list(changed("from_torch", convert.from_torch, build))
            assert not wrong, "\n".join(wrong)
    assert TORCHS in listed()


TORCH_OPTIONS = [{}, {"bias": False}, {"kdim": 5, "vdim": 5}, {"batch_first": True}]


def of_torch(**options) -> nn.Module:
    torch.manual_seed(0)
    return filled(nn.MultiheadAttention(12, 3, **options).eval(), std=0.3)


def refused(source: nn.Module) -> None:
    for name, convert_it in foreign.CONVERSIONS.items():
        with pytest.raises((TypeError, ValueError)) as error:
            convert_it(source)
        assert foreign.refuses(str(error.value)), (name, type(source))


ADAPTERS = {
    "LoRA": peft.LoraConfig(target_modules=[], init_lora_weights=False),
    "DoRA": peft.LoraConfig(target_modules=[], init_lora_weights=False, use_dora=True),
    "IA3": peft.IA3Config(target_modules=[], feedforward_modules=[], init_ia3_weights=False),
    "LoHa": peft.LoHaConfig(target_modules=[], init_weights=False),
    "LoKr": peft.LoKrConfig(target_modules=[], init_weights=False),
    "OFT": peft.OFTConfig(target_modules=[], init_weights=False, r=3, oft_block_size=0),
    "VeRA": peft.VeraConfig(target_modules=[], init_weights=False),
}
ADAPTED = {
    "from_bert": (bert.BertAttention, BertConfig, ["query", "value"]),
    "from_gpt2": (gpt2.GPT2Attention, GPT2Config, ["c_attn"]),
}


NO_CONV1D = {"LoHa", "LoKr", "OFT"}  # these cannot adapt GPT-2's maps
PAIRS = [(n, k) for n in ADAPTED for k in ADAPTERS if n == "from_bert" or k not in NO_CONV1D]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_an_adapter_is_refused_until_it_is_merged(name, kind):
    attention, config_of, targets = ADAPTED[name]
    configs = [config_of(hidden_size=12, num_attention_heads=3, attn_implementation="eager")]
    source, convert_it = foreign.random(attention, configs), foreign.CONVERSIONS[name]
    before = convert_it(source)
    config = copy.deepcopy(ADAPTERS[kind])
    config.target_modules = set(targets)
    config.fan_in_fan_out = name == "from_gpt2"
    with foreign.quiet():
        adapted = peft.PeftModel(source, config).eval()
        for part, parameter in adapted.named_parameters():
            if parameter.requires_grad and "vera_lambda" in part:
                nn.init.normal_(parameter)
        words = r"has no conversion by convert\..*; .*merge_and_unload"
        with pytest.raises(ValueError, match=words):
            convert_it(source)
        merged = adapted.merge_and_unload()
        assert foreign.outcome(name, convert_it, merged) == "equal"
    x = torch.randn(2, 5, 12)
    assert not torch.allclose(convert_it(merged)(x), before(x), atol=1e-3)


def test_attentions_of_peft_are_refused():
    with foreign.quiet():
        kinds = {kind for module in foreign.below(peft) for kind in foreign.attentions(module)}
        assert "MultiheadAttention" in {kind.__name__ for kind in kinds}
        for kind in kinds:
            refused(foreign.built(kind, []))
        source = of_torch()
        refused(lora.MultiheadAttention(source, "one", peft.LoraConfig(), r=2, lora_alpha=2))


TORCHTUNES = """
import sys
import torchtune.models, torchtune.modules
from torchtune.modules import MultiHeadAttention
from torch import nn
from tests.mhsa_lib.convert import foreign
with foreign.quiet():
    packages = torchtune.models, torchtune.modules
    kinds = {k for p in packages for m in foreign.below(p) for k in foreign.attentions(m)}
    assert MultiHeadAttention in kinds
    maps = {name: nn.Linear(12, 12) for name in ("q_proj", "k_proj", "v_proj", "output_proj")}
    whole = MultiHeadAttention(embed_dim=12, num_heads=3, num_kv_heads=3, head_dim=4, **maps)
    sources = [whole, *(foreign.built(kind, []) for kind in kinds)]
for source in sources:
    for name, convert_it in foreign.CONVERSIONS.items():
        try:
            convert_it(source)
        except (TypeError, ValueError) as error:
            assert foreign.refuses(str(error)), error
        else:
            sys.exit(f"{type(source)} was accepted by {name}")
print(len(kinds), "refused")
"""


@pytest.mark.slow  # another Python with other people's packages
def test_attentions_of_torchtune_are_refused():
    """In a process of its own: what lies in .peers is to be seen by nobody else."""
    if not (PEERS / "ready").exists():
        missing("no torchtune here: make .peers/ready")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TORCHTUNES],
        env=os.environ | {"PYTHONPATH": f"{PEERS}{os.pathsep}{PEERS.parent}"},
        cwd=PEERS.parent,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("refused\n")


def test_the_list_holds_what_was_converted_from_the_beginning():
    converted = [line for line in listed() if line.endswith(" from_bert")]
    assert len(converted) >= 27
    assert {line.rsplit(".", 1)[0] for line in listed() - {TORCHS}} <= set(MODULES)
