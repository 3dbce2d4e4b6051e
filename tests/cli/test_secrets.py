"""No secret of a log leaves the program, whatever the format."""

from __future__ import annotations

import itertools
import string
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.reasoning import HEAD, command, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

FORMATS = ("text", "json", "markdown")


def log(plain: str, shaped: str, hub: str) -> str:
    """A log that holds secrets wherever servers print them.

    Args:
        plain: a secret that is known by its name only.
        shaped: one that is known by its shape (``sk-…``).
        hub: one of Hugging Face.
    """
    return HEAD + text(
        f"INFO 05-02 10:00:09 api_server.py:529] args: Namespace(model='/m', api_key='{plain}',"
        f" hf_token=['{hub}'], ssl_keyfile_password=\"{plain}\", seed=0,"
        f" extra={{'headers': {{'Authorization': 'Bearer {shaped}'}}, 'secret_key': ('{plain}',)}},"
        f" endpoint='https://me:{plain}@example.org/v1')",
        "INFO 05-02 10:00:12 llm_engine.py:237] Initializing an LLM engine (v0.6.3) with config:"
        f" model='/m', hf_token='{hub}', api_key={plain}, seed=0",
        f"INFO 05-02 10:00:13 hub.py:20] Asking the hub for the model with token={plain} now",
        f"INFO 05-02 10:00:14 proxy.py:20] Asking https://me:{plain}@example.org/v1 for the model",
        "INFO 05-02 10:01:00 model_runner.py:1067] Loading model weights took 11.4210 GB",
        f"INFO 05-02 10:01:05 helio.py:7] Loaded Helio scan operator from /opt/{shaped}/lib/a.so",
        f"WARNING 05-02 10:01:10 nimbus.py:310] FusedMoE native kernel failed (api_key={plain}"
        f" {shaped}), falling back to pure PyTorch experts.",
        f"ERROR 05-02 10:01:11 _custom_ops.py:58] Error in calling custom op topk: token={plain}",
        f"WARNING 05-02 10:01:12 arg_utils.py:9] Prefix caching is not supported for {shaped} keys",
        "INFO:     Application startup complete.",
        f'INFO:     203.0.113.4:41112 - "GET /v1/models?api_key={plain} HTTP/1.1" 200 OK',
        "ERROR 05-02 11:00:00 engine.py:65] Engine background task failed",
        "ERROR 05-02 11:00:00 engine.py:65] Traceback (most recent call last):",
        f'ERROR 05-02 11:00:00 engine.py:65]   File "/opt/{shaped}/worker.py", line 10, in run',
        f"ERROR 05-02 11:00:00 engine.py:65] OSError: 401, headers {{'Authorization': 'Bearer"
        f" {plain}'}}, HF_TOKEN={hub}, {shaped}",
        "Traceback (most recent call last):",
        f"ConnectionError: {shaped} is refused at https://me:{plain}@example.org",
    )


def outputs(
    capsys: pytest.CaptureFixture[str], folder: Path, content: str
) -> Iterator[tuple[str, str]]:
    bad, good, both = (folder / name for name in ("bad.log", "good.log", "both.log"))
    bad.write_text(content)
    good.write_text(content.replace("05-02", "05-01").replace(":310]", ":95]"))
    both.write_text(f"the good log:\n{content}\nthe bad log of last week:\n"
                    + content.replace("05-02", "04-25"))  # fmt: skip
    lines: list[list[Any]] = [
        ["compare", good, bad], ["diagnose", bad], ["inspect", bad, both], ["diagnose", both],
        ["compare", both, bad]]  # fmt: skip
    for line, format_name, more in itertools.product(lines, FORMATS, ([], ["-v"])):
        result = command(capsys, *line, "-f", format_name, *more)
        assert result.status in (0, 2), result.err
        yield f"{line} {format_name} {more}", result.out + result.err


def test_no_secret_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secrets = ("not-a-real-secret-0042", "sk-notreal0123456789abcd", "hf_notreal0123456789abcd")
    for what, shown in outputs(capsys, tmp_path, log(*secrets)):
        for secret in secrets:
            assert secret not in shown, what
        assert "notreal" not in shown, what
        assert "not-a-real" not in shown, what


def test_a_secret_that_is_the_variable_part_of_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.log"
    path.write_text(HEAD + text("INFO 05-02 10:00:10 a.py:1] at https://me:notreal-1@example.org"))
    for format_name in FORMATS:
        assert "notreal" not in command(capsys, "diagnose", path, "-f", format_name, "-v").out


def test_two_keys_differ_and_one_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = "INFO 05-02 10:00:09 api_server.py:529] args: Namespace(api_key='{}', seed=0)\n"
    paths = [tmp_path / f"{number}.log" for number in range(3)]
    for path, key in zip(paths, ("notreal-one", "notreal-two", "notreal-two"), strict=True):
        path.write_text(HEAD + arguments.format(key))
    shown = command(capsys, "compare", paths[0], paths[1], "-v").out
    assert "--api-key" in shown
    assert "notreal" not in shown
    assert "--api-key" not in command(capsys, "compare", paths[1], paths[2]).out


letters = string.ascii_letters + string.digits
plain_secrets = st.text(letters + "-_./+", min_size=12, max_size=40).map(lambda s: f"Zq7{s}9")
shaped_secrets = st.text(letters, min_size=20, max_size=40).map(lambda s: f"sk-{s}4")
hub_secrets = st.text(letters, min_size=20, max_size=30).map(lambda s: f"hf_{s}4")


# One example is dozens of commands, so a failing one is not made smaller.
@settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(plain_secrets, shaped_secrets, hub_secrets)
def test_any_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], plain: str, shaped: str, hub: str
) -> None:
    content = log(plain.replace("/", "-"), shaped, hub)
    for what, shown in outputs(capsys, tmp_path, content):
        for secret in (plain.replace("/", "-"), shaped, hub):
            assert secret not in shown, what
            assert secret[:14] not in shown, what
