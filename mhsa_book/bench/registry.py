"""Everybody who takes part, by name: in whole passes, and in decoding.

A name maps to a function that builds an implementation with the weights of a ``Problem``, or
with the ``Past`` of a decode cell. A new one needs a line here and its function.
"""

from collections.abc import Callable

from mhsa_book.bench import decoding, decoding_libraries, hugging_face, libraries, rivals
from mhsa_book.bench.problem import Loaded, Problem
from mhsa_book.results.records import AGAIN, OURS, STAGES, UNIT

PASSES: dict[str, Callable[[Problem], Loaded]] = {
    UNIT: rivals.raw,
    AGAIN: rivals.raw,
    OURS: rivals.ours,
    STAGES: rivals.five_stages,
    "explicit softmax": rivals.explicit,
    "3h small matrices": rivals.small,
    "nn.MHA, no weights": rivals.torch_no_weights,
    "nn.MHA, fast path": rivals.torch_fast_path,
    "nn.MHA, weights": rivals.torch_weights,
    "torchtune": libraries.torchtune,
    "BERT eager": hugging_face.bert_eager,
    "BERT SDPA": hugging_face.bert_sdpa,
    "Llama eager": hugging_face.llama_eager,
    "Llama SDPA": hugging_face.llama_sdpa,
    "GPT-2 SDPA": hugging_face.gpt2_sdpa,
    "x-transformers": libraries.x_transformers,
    "x-transformers flash": libraries.x_transformers_flash,
    "litgpt": libraries.litgpt,
}
DECODERS: dict[str, Callable[[decoding.Past], decoding.Decoder]] = {
    UNIT: decoding.raw,
    AGAIN: decoding.raw,
    OURS: decoding.ours,
    "explicit softmax": decoding.explicit,
    "repeat_interleave": decoding.repeated,
    "no cache": decoding.no_cache,
    "torchtune": decoding_libraries.torchtune,
    "Llama, DynamicCache": decoding_libraries.llama_dynamic,
    "x-transformers flash": decoding_libraries.x_transformers,
    "litgpt": decoding_libraries.litgpt,
}
RAW_IN_BFLOAT16 = "raw, bfloat16"
LARGE = {STAGES, "3h small matrices", "nn.MHA, weights", "BERT eager", "Llama eager",
         "x-transformers"}  # fmt: skip
"""Those that write the weights; training on long texts is shown by explicit softmax alone."""
HOPELESS = 20
"""Who takes as many times as long as raw, and over a second a call, is not timed further."""
