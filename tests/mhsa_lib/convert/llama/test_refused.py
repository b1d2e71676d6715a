"""What is not known is refused by name: other positions, other modules, what was added."""

import functools
import types

import accelerate
import pytest
import torch
import transformers
from accelerate.hooks import remove_hook_from_module
from peft import LoraConfig, inject_adapter_in_model
from torch import nn
from transformers.models.cohere.modeling_cohere import CohereAttention

from mhsa_lib import convert
from mhsa_lib.tracing import hooks
from tests.helpers.drawn import rand
from tests.mhsa_lib.convert.llama.layers import each, parts, source


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"rope_type": "axial"},
            "rotary positions of kind 'axial' are not converted without 'axial': known are "
            "default, linear, llama3 and yarn, each with its",
        ),
        (
            {"rope_type": "default", "partial_rotary_factor": 0.7},
            "LlamaAttention and its conversion differ by ",
        ),
        (
            {"rope_type": "linear"},
            "rotary positions of kind 'linear' are not converted without 'factor': known are",
        ),
        (
            {"rope_theta": None},
            "positions of kind 'default' are not converted without 'rope_theta'",
        ),
        (
            {"rope_type": "dynamic", "factor": 4.0},
            "rotary positions of kind 'dynamic' are not converted without 'dynamic'",
        ),
        (
            {
                "rope_type": "longrope",
                "factor": 4.0,
                "short_factor": [1.0] * 3,
                "long_factor": [2.0] * 3,
            },
            "rotary positions of kind 'longrope' are not converted without 'longrope'",
        ),
        (
            {"rope_type": "proportional", "factor": 4.0, "partial_rotary_factor": 0.5},
            "rotary positions of kind 'proportional' are not converted without 'proportional'",
        ),
    ],
)
def test_other_positions_are_refused(given, words):
    module = source("llama")
    module.config.rope_parameters = {"rope_theta": 100.0} | given
    module.config.rope_theta = module.config.default_theta = None
    with pytest.raises(ValueError, match=words):
        convert.from_llama(module)


@pytest.mark.bothways
def test_the_wrong_module_is_refused_by_name():
    cohere = CohereAttention(
        transformers.CohereConfig(hidden_size=8, num_attention_heads=2, num_key_value_heads=2),
        0,
    )
    for module, name in ((nn.Linear(2, 2), "Linear"), (cohere, "CohereAttention")):
        words = (
            f"{name} has no conversion by convert.from_llama; only LlamaAttention or Mistral"
        )
        with pytest.raises(TypeError, match=words):
            convert.from_llama(module)


@pytest.mark.bothways
@each
def test_what_was_added_is_refused_by_name(kind):
    """A subclass with a forward, an adapter, a hook, another norm."""
    attention, _, _ = parts(kind)

    class Other(attention):
        def forward(self, *args, **options):
            return super().forward(*args, **options)

    module = source(kind)
    module.__class__ = Other
    with pytest.raises(
        TypeError, match=r"Other has no conversion by convert\.from_llama; only"
    ):
        convert.from_llama(module)
    packed = "qkv_proj" if kind == "phi3" else "q_proj"
    module = source(kind)
    inject_adapter_in_model(LoraConfig(r=2, target_modules=[packed]), module)
    words = rf"has no parameter {packed}\.weight but .*base_layer.* has no conversion by "
    words += r"convert\.from_llama; .*merge_and_unload"
    with pytest.raises(ValueError, match=words):
        convert.from_llama(module)
    module = source(kind)
    module.o_proj.register_forward_hook(lambda *args: None)
    with pytest.raises(ValueError, match=r"o_proj has a hook, .*<lambda>, which has no"):
        convert.from_llama(module)
    module = source(kind)
    module.register_forward_hook(hooks.watching(lambda *args: None))
    convert.from_llama(module)
    if hasattr(module, "q_norm"):
        module.q_norm = nn.LayerNorm(6).double()
        with pytest.raises(
            ValueError, match=r"'LayerNorm' .*no attribute '.*eps.*has no conversion"
        ):
            convert.from_llama(module)


def test_a_forward_grafted_from_a_class_of_the_same_name_is_refused(monkeypatch):
    """As one copies a class, edits it, and puts its forward where the old one was."""
    module, copied = source("llama"), types.ModuleType("edited")
    code = """class LlamaAttention:
    def forward(self, x, *args, **kwargs): return 2 * x, None"""
    exec(code, vars(copied))
    for forward in (copied.LlamaAttention.forward, functools.partialmethod(print, end="")):
        monkeypatch.setattr(type(module), "forward", forward)
        with pytest.raises(ValueError, match=r"LlamaAttention .*estore what was replaced"):
            convert.from_llama(module)


def test_a_mixin_behind_the_known_class_is_refused():
    class Twice(nn.Module):
        def __call__(self, *args, **kwargs):
            y, weights = super().__call__(*args, **kwargs)
            return 2 * y, weights

    module = source("llama")
    module.__class__ = type("Mine", (type(module), Twice), {})
    with pytest.raises(TypeError, match="Mine has no conversion"):
        convert.from_llama(module)


@pytest.mark.parametrize("name", ["mine", "sdpa"])
def test_a_way_to_attend_of_ones_own_is_refused_under_any_name(name, monkeypatch):
    module = source("llama")
    registered = transformers.AttentionInterface._global_mapping
    monkeypatch.setitem(registered, name, lambda *args, **kwargs: None)
    module.config._attn_implementation = name
    words = f"_attn_implementation='{name}' is not an attention of PyTorch, which is"
    if name == "sdpa":
        words = "could not be compared with its conversion: it ended in TypeError .*; restore"
    with pytest.raises(ValueError, match=words):
        convert.from_llama(module)


def test_what_accelerate_has_let_go_is_converted():
    module, x = source("llama"), rand(2, 5, 12)
    expected = convert.from_llama(module)(x)
    accelerate.cpu_offload(module, execution_device="cpu")
    with pytest.raises(
        ValueError, match=r"has a forward of its own, .*remove_hook_from_module"
    ):
        convert.from_llama(module)
    remove_hook_from_module(module, recurse=True)
    assert torch.equal(convert.from_llama(module)(x), expected)


@pytest.mark.filterwarnings("ignore:.torch.jit.script_method:DeprecationWarning")
def test_a_refusal_says_what_to_do_with_a_class_and_with_compiled_code():
    with pytest.raises(
        TypeError, match=r"\.LlamaAttention has .*: pass an object that is the whole"
    ):
        convert.from_llama(type(source("llama")))
    with pytest.raises(TypeError, match=r"OptimizedModule has .*: its \._orig_mod"):
        convert.from_llama(torch.compile(source("llama")))


def test_a_map_of_another_shape_is_named():
    module = source("llama")
    module.v_proj = nn.Linear(12, 18, bias=False).double()
    with pytest.raises(ValueError, match=r"W_V\.weight has shape \(18, 12\), not \(12, 12\)"):
        convert.from_llama(module)
