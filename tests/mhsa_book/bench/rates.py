"""Rates of a made-up machine."""

RATES = {
    "gemm_float32": 300.0, "gemm_bfloat16": 900.0, "exp": 4.0,
    "read_4_mb": 90.0, "read_64_mb": 50.0, "read_1024_mb": 30.0,
}  # fmt: skip
