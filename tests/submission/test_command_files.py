"""Start scripts, ``docker run`` and Dockerfiles as the servers that they start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from logdiff.submission.launch import LaunchConfig, open_launch, read_launch, servers
from logdiff.submission.model import SubmissionError, TextFile

if TYPE_CHECKING:
    from pathlib import Path


def read(name: str, text: str) -> list[LaunchConfig]:
    return read_launch(TextFile(name, text.encode()))


def arguments(config: LaunchConfig) -> dict[str, str | bool]:
    return {argument.name: argument.value for argument in config.arguments}


def variables(config: LaunchConfig) -> dict[str, str]:
    return {variable.name: variable.value for variable in config.environment}


def value_places(config: LaunchConfig) -> dict[str, tuple[int, str]]:
    """The line and the text at which the value of each argument is written."""
    file = config.file
    return {
        argument.name: (file.line(argument.value_span.start), file.text(argument.value_span))
        for argument in config.arguments
        if argument.value_span
    }


@pytest.fixture
def launch_files(fixtures_directory: Path) -> Path:
    return fixtures_directory / "submission" / "launch"


def test_a_start_script(launch_files: Path) -> None:
    [config] = read_launch(open_launch(str(launch_files / "start.sh")))
    assert (config.kind, config.name) == ("shell", "")
    assert config.program == "vllm.entrypoints.openai.api_server"
    assert arguments(config) == {
        "model": "/models/small",
        "max_model_len": "65536",
        "max_num_seqs": "4",
        "limit_mm_per_prompt": '{"image": 2}',
        "enable_prefix_caching": True,
        "gpu_memory_utilization": "0.88",
        "served_model_name": "small",
        "port": "8080",
    }
    assert value_places(config) == {
        "model": (7, "/models/small"),
        "max_model_len": (8, "65536"),
        "max_num_seqs": (19, "4"),
        "limit_mm_per_prompt": (20, '{"image": 2}'),
        "gpu_memory_utilization": (11, "0.88"),
        "served_model_name": (13, "small"),
        "port": (14, "8080"),
    }
    assert [a.name for a in config.arguments if a.assumed] == ["model"]
    assert variables(config) == {
        "VLLM_LOGGING_LEVEL": "INFO",
        "OMP_NUM_THREADS": "8",
        "HF_HUB_OFFLINE": "1",
        "NCCL_DEBUG": "WARN",
    }


def test_docker_run(launch_files: Path) -> None:
    run, inside = read_launch(open_launch(str(launch_files / "docker_run.sh")))
    assert (run.kind, run.name, run.program) == ("docker-run", "serving", "")
    assert run.image == "registry.example.com/serving:1.4"
    assert arguments(run) == {
        "model": "/models/small",
        "max_model_len": "65536",
        "tensor_parallel_size": "2",
        "enforce_eager": True,
    }
    assert variables(run) == {"HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "INFO"}
    assert (inside.kind, inside.name, inside.program) == ("docker-run", "worker", "vllm serve")
    assert inside.image is None
    assert arguments(inside) == {"model": "/models/large", "port": "8081"}
    assert variables(inside) == {"OMP_NUM_THREADS": "8"}


@pytest.mark.parametrize(
    ("name", "program", "given", "environment"),
    [
        (
            "Dockerfile",
            "vllm.entrypoints.openai.api_server",
            {"max_num_seqs": "4", "enforce_eager": True},
            {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "8"},
        ),
        (
            "shell.Dockerfile",
            "vllm serve",
            {"max_num_seqs": "4"},
            {"LENGTH": "65536", "OMP_NUM_THREADS": "8"},
        ),
        ("here.Dockerfile", "vllm serve", {}, {"OMP_NUM_THREADS": "8"}),
    ],
)
def test_dockerfiles(
    launch_files: Path,
    name: str,
    program: str,
    given: dict[str, str | bool],
    environment: dict[str, str],
) -> None:
    [config] = read_launch(open_launch(str(launch_files / name)))
    assert (config.kind, config.program) == ("dockerfile", program)
    assert config.image == "registry.example.com/base:2.1"
    assert arguments(config) == {"model": "/models/small", "max_model_len": "65536", **given}
    assert variables(config) == environment


STARTS = {
    "vllm serve /m --tp 2": ("shell", "vllm serve"),
    "nohup vllm serve /m > log 2>&1 &": ("shell", "vllm serve"),
    "numactl -N 0 python3 -m sglang.launch_server --tp 2": ("shell", "sglang.launch_server"),
    "CUDA_VISIBLE_DEVICES=0 vllm serve /m": ("shell", "vllm serve"),
    "env A=1 vllm serve /m": ("shell", "vllm serve"),
    'CMD="vllm serve /m --port 1"\neval $CMD': ("shell", "vllm serve"),
    'CMD="vllm serve /m --port 1"\n$CMD': ("shell", "vllm serve"),
    'CMD="vllm serve"\nCMD+=" /m"\neval "$CMD"': ("shell", "vllm serve"),
    "bash -o pipefail -c 'vllm serve /m'": ("shell", "vllm serve"),
    'M=/m; bash -c "vllm serve $M"': ("shell", "vllm serve"),
    "start() { vllm serve $1; }; start /m": ("shell", "vllm serve"),
    'if [ -n "$X" ]; then vllm serve /m; fi': ("shell", "vllm serve"),
    "for p in 1 2; do vllm serve /m --port $p & done": ("shell", "vllm serve"),
    "cat > s.sh <<'EOF'\nvllm serve /m\nEOF\nchmod +x s.sh": ("shell", "vllm serve"),
    "docker run --gpus=all -it img vllm serve /m": ("docker-run", "vllm serve"),
    "podman run --entrypoint vllm img serve /m": ("docker-run", "vllm serve"),
    "docker run -p8000:8000 -eA=1 img --max-model-len 9": ("docker-run", ""),
    "docker container run img bash -c 'cd /x; vllm serve /m'": ("docker-run", "vllm serve"),
    "docker --context a exec c vllm serve /m": ("docker-run", "vllm serve"),
}  # fmt: skip


@pytest.mark.parametrize("line", STARTS)
def test_ways_to_start_a_server(line: str) -> None:
    [config] = read("start.sh", line + "\n")
    assert (config.kind, config.program) == STARTS[line]


@pytest.mark.parametrize(
    "line",
    [
        "echo vllm serve /m",
        "pkill -f 'vllm serve'",
        "ps aux | grep 'vllm serve'",
        "pip install vllm serve",
        "docker pull vllm/vllm-openai",
        "docker build -t vllm serve .",
        "docker run",
        "# vllm serve /m",
    ],
)
def test_what_starts_no_server(line: str) -> None:
    with pytest.raises(SubmissionError, match="starts no inference server"):
        read("start.sh", line + "\n")


def test_a_file_whose_name_tells_nothing_is_read_as_what_it_is() -> None:
    assert read("serve", "vllm serve /m: --port 1\n")[0].kind == "shell"
    assert read("serve.txt", "command: vllm serve /m\n")[0].kind == "platform"
    assert read("image", 'FROM x\nCMD ["vllm", "serve", "/m"]\n')[0].kind == "dockerfile"


def test_a_variable_with_several_values_has_none_that_is_known() -> None:
    script = "if [ -d /a ]; then export A=1; else export A=2; fi\nvllm serve /m\n"
    [config] = read("start.sh", script)
    assert variables(config) == {"A": "${A}"}


def test_a_variable_that_is_handed_on_to_a_container() -> None:
    [config] = read("s.sh", "export A=1\ndocker run -e A -e B img vllm serve /m\n")
    assert variables(config) == {"A": "1", "B": "${B}"}


def test_servers_of_one_name_are_numbered() -> None:
    configs = read("s.sh", "vllm serve /a\nvllm serve /b\ndocker run --name c i vllm serve /d\n")
    assert [config.name for config in configs] == ["1", "2", "c"]


def test_the_arguments_of_cmd_follow_the_entry_point_and_only_an_exec_form() -> None:
    exec_form = 'FROM x\nENTRYPOINT ["vllm", "serve"]\nCMD ["/m", "--port", "1"]\n'
    assert arguments(read("Dockerfile", exec_form)[0]) == {"model": "/m", "port": "1"}
    shell_form = 'FROM x\nENTRYPOINT vllm serve /m\nCMD ["--port", "1"]\n'
    assert arguments(read("Dockerfile", shell_form)[0]) == {"model": "/m"}


def test_only_the_last_stage_starts_a_server() -> None:
    text = 'FROM x AS a\nCMD ["vllm", "serve", "/a"]\nFROM y\nCMD ["vllm", "serve", "/b"]\n'
    [config] = read("Dockerfile", text)
    assert arguments(config) == {"model": "/b"}


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("cat > start.sh <<'EOF'\nvllm serve /m --max-model-len 5\nEOF\n", ["5"]),
        ("cat <<'EOF' >> start.sh\nvllm serve /m --max-model-len 5\nEOF\n", ["5"]),
        ("cat >| start.sh <<'EOF'\nvllm serve /m --max-model-len 5\nEOF\n", ["5"]),
        ("tee /opt/go <<'EOF'\n#!/bin/sh\nvllm serve /m --max-model-len 5\nEOF\n", ["5"]),
        ("bash <<'EOF'\nvllm serve /m --max-model-len 5\nEOF\n", ["5"]),
        ("cat > notes.txt <<'EOF'\nvllm serve /m --max-model-len 5\nEOF\n", []),
        ('cat > a.py <<\'EOF\'\n"""It\'s a start."""\nx = \'(\nEOF\n', []),
        ("cat > start.sh <<'EOF'\nvllm serve /m --max-model-len '5\nEOF\n", []),
    ],
)
def test_scripts_that_a_script_writes(text: str, lengths: list[str]) -> None:
    found = servers(TextFile("make.sh", text.encode()))
    assert [arguments(config)["max_model_len"] for config in found] == lengths
