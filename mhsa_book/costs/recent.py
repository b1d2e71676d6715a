"""Three models of 2025 and 2026, with what their layers keep for every token.

Source: the published configurations, which are the defaults of ``GptOssConfig``,
``MiniMaxM2Config`` and ``Qwen3_5MoeTextConfig`` in transformers 5.23; a test compares.
"""

from mhsa_book.costs.configurations import Configuration

SOURCE = "transformers 5.23, the defaults of its configuration"

GPT_OSS = Configuration(
    "gpt-oss-120b", 36, 2880, 64, 8, 64, "QKVO", window=128, global_layers=18, source=SOURCE
)
"""Every second layer has a window."""

MINIMAX_M2 = Configuration("MiniMax-M2", 62, 3072, 48, 8, 128, source=SOURCE)
"""All layers keep everything."""

QWEN3_5 = Configuration("Qwen3.5-35B-A3B", 10, 2048, 16, 2, 256, source=SOURCE)
"""Its 10 full layers; the other 30 keep a state of one size, however long the text."""

RECENT = (GPT_OSS, MINIMAX_M2, QWEN3_5)
"""All three."""
