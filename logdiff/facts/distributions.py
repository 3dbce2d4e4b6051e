"""Which distribution brings a Python module, as far as its name tells."""

from __future__ import annotations

DISTRIBUTIONS = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "fla": "flash-linear-attention",
    "flashinfer": "flashinfer-python",
    "google.protobuf": "protobuf",
    "lmformatenforcer": "lm-format-enforcer",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "yaml": "pyyaml",
    "flash_attn_2_cuda": "flash-attn",
    "flash_attn_3_cuda": "flash-attn",
    "vllm_flash_attn": "vllm",
    "selective_scan_cuda": "mamba-ssm",
    "causal_conv1d_cuda": "causal-conv1d",
    "aten": "torch",
    "npu": "torch-npu",
    "FlashInfer": "flashinfer-python",
    "FlashAttention": "flash-attn",
    "zmq": "pyzmq",
    "pkg_resources": "setuptools",
}
"""Distributions whose name is not that of the module, or of the operators, that they bring."""
ENGINES = (
    "vllm",
    "vllm_flash_attn",
    "sglang",
    "sgl_kernel",
    "lmdeploy",
    "text_generation_server",
    "lightllm",
)
"""Modules that come with an engine: where one is missing, files of two versions are mixed."""
_WELL_KNOWN = frozenset(
    """
    torch torchvision torchaudio torch_npu transformers tokenizers triton numpy scipy pandas numba
    ray xformers flash_attn flashinfer tiktoken sentencepiece einops timm decord librosa soundfile
    av xgrammar outlines lmformatenforcer llguidance bitsandbytes auto_gptq gguf mistral_common
    openai fastapi uvicorn uvloop pydantic starlette aiohttp prometheus_client huggingface_hub
    hf_transfer safetensors accelerate peft psutil msgspec cachetools cloudpickle modelscope
    partial_json_parser qwen_vl_utils compressed_tensors depyf blake3 cbor2 diskcache lark
    pybase64 setproctitle causal_conv1d mamba_ssm nixl lmcache importlib_metadata packaging
    setuptools requests tqdm regex jinja2 filelock sympy networkx ninja six typing_extensions
    """.split()
)
"""Modules that a package index has under their own name."""


def distribution_of(module: str) -> str:
    """The distribution that brings a module."""
    top = module.partition(".")[0]
    return DISTRIBUTIONS.get(module) or DISTRIBUTIONS.get(top) or top.replace("_", "-")


def is_of_an_engine(module: str) -> bool:
    """Whether a module comes with an engine."""
    return module.partition(".")[0] in ENGINES


def is_well_known(module: str) -> bool:
    """Whether a package index has what brings a module."""
    return module.partition(".")[0] in _WELL_KNOWN or module in DISTRIBUTIONS
