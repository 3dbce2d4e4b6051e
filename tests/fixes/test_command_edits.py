"""Edits of start scripts, ``docker run`` commands and Dockerfiles: only what is meant changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff.fixes import launch_edits
from logdiff.fixes.edits import EditRefusedError, apply_edits
from logdiff.submission.launch import LaunchConfig, read_launch
from logdiff.submission.launch.arguments import canonical
from logdiff.submission.model import TextFile

FIXTURES = Path(__file__).parents[2] / "fixtures" / "submission" / "launch"
NAMES = ("start.sh", "docker_run.sh", "Dockerfile", "shell.Dockerfile", "here.Dockerfile")


def config_of(name: str, text: str) -> LaunchConfig:
    return read_launch(TextFile(name, text.encode()))[0]


def edited(name: str, text: str, how: str, *what: str | None) -> str:
    config = config_of(name, text)
    edits = getattr(launch_edits, how)(config, *what)
    return apply_edits(config.file.data, edits).decode()


Case = tuple[str, str, tuple[str | None, ...], str, str]
CASES: list[Case] = [
    ("start.sh", "set_argument", ("--max-model-len", "9"), "LENGTH=65536", "LENGTH=9"),
    ("start.sh", "set_argument", ("--model", "/b"), ":-/models/small}", ":-/b}"),
    ("start.sh", "set_argument", ("--max-num-seqs", "9"), "--max-num-seqs=4", "--max-num-seqs=9"),
    ("start.sh", "set_argument", ("--gpu-memory-utilization", "0.5"), '"0.88"', '"0.5"'),
    ("start.sh", "set_argument", ("--port", "9"), "--port 8080", "--port 9"),
    ("start.sh", "set_argument", ("--limit-mm-per-prompt", '{"image": 1}'), '": 2}', '": 1}'),
    (
        "start.sh", "set_argument", ("--max-num-batched-tokens", "9"),
        "    --max-num-seqs=4 \\\n",
        "    --max-num-seqs=4 \\\n    --max-num-batched-tokens 9 \\\n",
    ),
    (
        "start.sh", "set_argument", ("--swap-space", "9"),
        '    --gpu-memory-utilization "0.88"\n',
        '    --gpu-memory-utilization "0.88"\n    --swap-space 9\n',
    ),
    ("start.sh", "set_argument", ("--host", "::"), "--port 8080", "--port 8080 --host ::"),
    ("start.sh", "remove_argument", ("--max-model-len",), "    --max-model-len $LENGTH \\\n", ""),
    (
        "start.sh", "remove_argument", ("--enable-prefix-caching",),
        "    --enable-prefix-caching   # answers repeat\n", "",
    ),
    ("start.sh", "remove_argument", ("--port",), " --port 8080", ""),
    ("start.sh", "set_variable", ("OMP_NUM_THREADS", "1"), '="8"', '="1"'),
    ("start.sh", "set_variable", ("NCCL_DEBUG", "INFO"), "NCCL_DEBUG=WARN", "NCCL_DEBUG=INFO"),
    ("start.sh", "set_variable", ("B", "x y"), "NCCL_DEBUG=WARN", "NCCL_DEBUG=WARN B='x y'"),
    ("start.sh", "remove_variable", ("OMP_NUM_THREADS",), ' OMP_NUM_THREADS="8"', ""),
    (
        "start.sh", "remove_variable", ("VLLM_LOGGING_LEVEL",),
        "export VLLM_LOGGING_LEVEL=INFO\n", "",
    ),
    ("start.sh", "remove_variable", ("NCCL_DEBUG",), "NCCL_DEBUG=WARN ", ""),
    ("docker_run.sh", "set_argument", ("-tp", "4"), "parallel-size 2", "parallel-size 4"),
    (
        "docker_run.sh", "set_argument", ("--max-num-seqs", "2"),
        "  --enforce-eager\n", "  --enforce-eager \\\n  --max-num-seqs 2\n",
    ),
    (
        "docker_run.sh", "remove_argument", ("--enforce-eager",),
        " \\\n  --enforce-eager\n", "\n",
    ),
    (
        "docker_run.sh", "set_variable", ("A", "1"),
        '-e "VLLM_LOGGING_LEVEL=INFO"', '-e "VLLM_LOGGING_LEVEL=INFO" -e A=1',
    ),
    (
        "docker_run.sh", "set_variable", ("VLLM_LOGGING_LEVEL", "DEBUG"),
        "VLLM_LOGGING_LEVEL=INFO", "VLLM_LOGGING_LEVEL=DEBUG",
    ),
    ("docker_run.sh", "remove_variable", ("HF_HUB_OFFLINE",), " -e HF_HUB_OFFLINE=1", ""),
    ("Dockerfile", "set_argument", ("--max-model-len", "9"), '"65536"', '"9"'),
    ("Dockerfile", "set_argument", ("--served-model-name", 'a"b'), '"/models/small"',
     '"/models/small", "--served-model-name", "a\\"b"'),
    ("Dockerfile", "remove_argument", ("--enforce-eager",), ', "--enforce-eager"', ""),
    ("Dockerfile", "remove_argument", ("--max-model-len",),
     ', \\\n     "--max-model-len", "65536"', ""),
    ("Dockerfile", "set_variable", ("OMP_NUM_THREADS", "1"), "THREADS=8", "THREADS=1"),
    ("Dockerfile", "set_variable", ("A", "1"), "    OMP_NUM_THREADS=8\n",
     "    OMP_NUM_THREADS=8 \\\n    A=1\n"),
    ("Dockerfile", "remove_variable", ("HF_HUB_OFFLINE",), "HF_HUB_OFFLINE=1 \\\n    ", ""),
    ("shell.Dockerfile", "set_argument", ("--max-num-seqs", "9"), "seqs 4", "seqs 9"),
    ("shell.Dockerfile", "set_argument", ("--max-model-len", "9"), "$LENGTH", "9"),
    ("shell.Dockerfile", "remove_argument", ("--max-num-seqs",), " \\\n    --max-num-seqs 4", ""),
    ("shell.Dockerfile", "remove_variable", ("OMP_NUM_THREADS",),
     "export OMP_NUM_THREADS=8 && ", ""),
    ("here.Dockerfile", "set_argument", ("--max-model-len", "9"), "65536", "9"),
    ("here.Dockerfile", "set_variable", ("A", "1"), "export OMP_NUM_THREADS=8\n",
     "export OMP_NUM_THREADS=8\nexport A=1\n"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "how", "what", "before", "after"), CASES)
def test_an_edit_and_its_place(
    name: str, how: str, what: tuple[str | None, ...], before: str, after: str
) -> None:
    text = (FIXTURES / name).read_text(encoding="utf-8")
    assert text.count(before) == 1
    assert edited(name, text, how, *what) == text.replace(before, after)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("#!/bin/bash\nvllm serve /m\n", "#!/bin/bash\nexport A=1\nvllm serve /m\n"),
        ("if x; then\n\tvllm serve /m\nfi\n", "if x; then\n\texport A=1\n\tvllm serve /m\nfi\n"),
        ("if :; then\n\tvllm serve /m\nfi\n", "if :; then\n\texport A=1\n\tvllm serve /m\nfi\n"),
        ("docker run img vllm serve /m\n", "docker run -e A=1 img vllm serve /m\n"),
        ("export B=2\nvllm serve /m", "export B=2\nexport A=1\nvllm serve /m"),
        ("export B=2\r\nvllm serve /m\r\n", "export B=2\r\nexport A=1\r\nvllm serve /m\r\n"),
    ],
)  # fmt: skip
def test_a_variable_where_there_is_none(text: str, after: str) -> None:
    assert edited("start.sh", text, "set_variable", "A", "1") == after


def test_a_variable_where_a_dockerfile_sets_none() -> None:
    text = 'FROM x\nCMD ["vllm", "serve", "/m"]\n'
    after = 'FROM x\nENV A=1\nCMD ["vllm", "serve", "/m"]\n'
    assert edited("Dockerfile", text, "set_variable", "A", "1") == after


@pytest.mark.parametrize(
    ("text", "how", "what", "why"),
    [
        ("vllm serve /m --port 1 --port 2", "set_argument", ("--port", "3"), "is given 2 times"),
        ("L=1\nvllm serve /a --port $L\nvllm serve /b --seed $L", "set_argument", ("--port", "2"),
         "by hand"),
        ("export A=1\nexport A=2\nvllm serve /m", "set_variable", ("A", "3"), "is set 2 times"),
        ("docker run -e A img vllm serve /m", "set_variable", ("A", "3"), "by hand"),
        ("L=1\ncp a.py /v/$L.py\nvllm serve /a --port $L", "set_argument", ("--port", "2"),
         "by hand"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, how: str, what: tuple[str, ...], why: str) -> None:
    with pytest.raises(EditRefusedError, match=why) as refused:
        edited("start.sh", text, how, *what)
    assert refused.value.message.startswith("start.sh:")


# Any change of any file


def said(config: LaunchConfig) -> tuple[dict[str, Any], dict[str, str]]:
    return (
        {argument.name: argument.value for argument in config.arguments},
        {variable.name: variable.value for variable in config.environment},
    )


texts = st.text("abcXYZ019 ./:=,{}[]\"'$\\-_é", min_size=1, max_size=12).filter(
    lambda text: text.strip() == text and not text.startswith("-")
)
changes = st.one_of(
    st.tuples(
        st.just("set_argument"),
        st.sampled_from(("--max-model-len", "--max-num-seqs", "--model", "--dtype", "--seed")),
        st.one_of(st.integers(0, 10**6).map(str), texts),
    ),
    st.tuples(st.just("set_argument"), st.just("--enforce-eager"), st.none()),
    st.tuples(
        st.just("remove_argument"),
        st.sampled_from(("--max-model-len", "--max-num-seqs", "--enforce-eager", "--dtype")),
    ),
    st.tuples(
        st.just("set_variable"), st.sampled_from(("OMP_NUM_THREADS", "HF_HUB_OFFLINE", "N")), texts
    ),
    st.tuples(
        st.just("remove_variable"), st.sampled_from(("OMP_NUM_THREADS", "HF_HUB_OFFLINE", "N"))
    ),
)


@given(name=st.sampled_from(NAMES), crlf=st.booleans(), change=changes)
def test_only_what_is_meant_changes(name: str, crlf: bool, change: tuple[Any, ...]) -> None:
    text = (FIXTURES / name).read_text(encoding="utf-8")
    text = text.replace("\n", "\r\n") if crlf else text
    how, what, *value = change
    arguments, environment = said(config_of(name, text))
    try:
        after = edited(name, text, how, *change[1:])
    except EditRefusedError:
        return
    target: dict[str, Any] = environment if "variable" in how else arguments
    key = what if "variable" in how else canonical(what)
    if how.startswith("remove"):
        target.pop(key, None)
    else:
        target[key] = True if value[0] is None else value[0]
    assert said(config_of(name, after)) == (arguments, environment)
    assert edited(name, after, how, *change[1:]) == after
    lines = after.count("\r\n") if crlf else after.count("\n")
    assert after.count("\n") == lines
    assert abs(after.count("\n") - text.count("\n")) <= 1


@given(name=st.sampled_from(NAMES), value=st.integers(0, 10**6).map(str))
def test_a_plain_number_is_never_refused(name: str, value: str) -> None:
    text = (FIXTURES / name).read_text(encoding="utf-8")
    for how, what in (("set_argument", "--max-model-len"), ("set_argument", "--max-num-seqs"),
                      ("set_argument", "--seed"), ("set_variable", "NEW")):  # fmt: skip
        assert edited(name, text, how, what, value) != text or value in text
