"""Launch files of every kind as the servers that they start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from logdiff.submission.launch import LaunchConfig, open_launch, read_launch
from logdiff.submission.launch.arguments import read_words
from logdiff.submission.launch.words import commands_in
from logdiff.submission.model import Span, SubmissionError, TextFile

if TYPE_CHECKING:
    from pathlib import Path


def arguments(config: LaunchConfig) -> dict[str, str | bool]:
    return {argument.name: argument.value for argument in config.arguments}


def variables(config: LaunchConfig) -> dict[str, str]:
    return {variable.name: variable.value for variable in config.environment}


LINES: dict[str, dict[str, Any]] = {
    "vllm serve /m --max-model-len 8192": {"model": "/m", "max_model_len": "8192"},
    "vllm serve /m --max-model-len=8192": {"model": "/m", "max_model_len": "8192"},
    "vllm serve --max_model_len 8192": {"max_model_len": "8192"},
    "python -m vllm.entrypoints.openai.api_server -tp 4 -q awq": {
        "tensor_parallel_size": "4", "quantization": "awq"},
    "/usr/bin/vllm serve --no-enable-prefix-caching --enforce-eager --seed 1": {
        "enable_prefix_caching": False, "enforce_eager": True, "seed": "1"},
    "vllm serve --enable-chunked-prefill false": {"enable_chunked_prefill": "false"},
    "vllm serve --trust-remote-code /m": {"trust_remote_code": True},
    """vllm serve --limit-mm-per-prompt '{"image": 2}'""": {"limit_mm_per_prompt": '{"image": 2}'},
    "vllm serve --compilation-config.level 3": {"compilation_config.level": "3"},
    "vllm serve --served-model-name a b --port 8000": {"served_model_name": "a b", "port": "8000"},
    'vllm serve --model "$MODEL" --dtype half': {"model": "$MODEL", "dtype": "half"},
    "python3 -m sglang.launch_server --tp 2": {"tp": "2"},
    "python api_server.py --gpu-memory-utilization -1": {"gpu_memory_utilization": "-1"},
}  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_flags_in_every_spelling(line: str) -> None:
    file = TextFile("start.sh", line.encode())
    [words] = commands_in(file, Span(0, len(file.data)))
    found = read_words(file, words)
    assert found
    assert {argument.name: argument.value for argument in found.arguments} == LINES[line]
    for argument in found.arguments:
        if argument.value_span:
            written = file.text(argument.value_span).replace("'", "").replace('"', "")
            assert written == str(argument.value).replace('"', "")


@pytest.mark.parametrize(
    "line", ["pip install vllm", "python train.py --lr 1", "nginx -g x", "--listen :9000", ""]
)
def test_what_starts_no_server(line: str) -> None:
    file = TextFile("start.sh", line.encode())
    for words in commands_in(file, Span(0, len(file.data))):
        assert read_words(file, words) is None


@pytest.fixture
def launch_files(fixtures_directory: Path) -> Path:
    return fixtures_directory / "submission" / "launch"


def test_the_platforms_own(launch_files: Path) -> None:
    [config] = read_launch(open_launch(str(launch_files / "platform.yaml")))
    assert (config.kind, config.program) == ("platform", "vllm.entrypoints.openai.api_server")
    assert arguments(config) == {
        "model": "/models/small",
        "served_model_name": "small",
        "max_model_len": "65536",
        "max_num_seqs": "4",
        "enforce_eager": True,
        "tensor_parallel_size": "2",
    }
    assert variables(config) == {"VLLM_ENGINE_ITERATION_TIMEOUT_S": "1800", "OMP_NUM_THREADS": "8"}


def test_compose(launch_files: Path) -> None:
    text, listed = read_launch(open_launch(str(launch_files / "compose.yaml")))
    assert (text.name, listed.name) == ("serving", "flow")
    assert arguments(text)["gpu_memory_utilization"] == "0.9"
    assert arguments(text)["enable_prefix_caching"] is True
    assert variables(text) == {"HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "INFO"}
    assert listed.program == "vllm serve"
    assert arguments(listed)["max_num_seqs"] == "8"
    assert variables(listed)["PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True"


def test_kubernetes(launch_files: Path) -> None:
    [config] = read_launch(open_launch(str(launch_files / "deployment.yaml")))
    assert (config.kind, config.name, config.program) == ("kubernetes", "serving", "vllm serve")
    assert arguments(config)["max_num_seqs"] == "16"
    assert variables(config) == {"VLLM_USE_V1": "1"}


def test_the_engines_own(launch_files: Path) -> None:
    [config] = read_launch(open_launch(str(launch_files / "engine.yaml")))
    assert config.kind == "engine-config"
    assert arguments(config)["max_model_len"] == "32768"
    assert arguments(config)["enforce_eager"] is True


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: 1\n", "starts no inference server"),
        (b"command: [nginx]\n", "starts no inference server"),
        (b"", "starts no inference server"),
        ("command: [vllm]\n".encode("utf-16"), r"a.yaml:1:1: is UTF-16; save it as UTF-8"),
        (b"\x7fELF\0\0", r"a.yaml:1:5: a NUL byte"),
        (b"command: 'vllm serve\n", r"a.yaml:2:1"),
    ],
)
def test_what_is_no_launch_file(data: bytes, message: str) -> None:
    with pytest.raises(SubmissionError, match=message):
        read_launch(TextFile("a.yaml", data))


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError, match="cannot be read"):
        open_launch(str(tmp_path / "gone.yaml"))
    large = tmp_path / "large.yaml"
    large.write_bytes(b"a: 1\n" * 300_000)
    with pytest.raises(SubmissionError, match="is larger than"):
        open_launch(str(large))
