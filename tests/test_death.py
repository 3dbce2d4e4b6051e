"""Which of the exceptions of a log the engine died of."""

from __future__ import annotations

import io
from typing import Any

import pytest

from logdiff.engine.ruleset import load_builtin
from logdiff.envelopes import unwrappers
from logdiff.extract.scan import Scanner
from logdiff.facts import derive
from logdiff.read import Source

START = "(APIServer pid=7) INFO 05-03 10:00:09 [api_server.py:528] vLLM API server version 0.12.0\n"
UP = "(APIServer pid=7) INFO:     Application startup complete.\n"
SIGN = (
    "(EngineCore pid=9) ERROR 05-03 11:00:01 [multiproc_executor.py:315] Worker proc VllmWorker-1 "
    "died unexpectedly, shutting down executor.\n"
)
CLIENT = (
    "(APIServer pid=7) ERROR 05-03 10:59:59 [serving_chat.py:233] ValueError: This model's maximum "
    "context length is 2048 tokens. However, you requested 3027 tokens.\n"
)
FAULT = (
    "(Worker_TP1 pid=12) ERROR 05-03 11:00:00 [multiproc_executor.py:671] Traceback (most recent "
    "call last):\n"
    "(Worker_TP1 pid=12) ERROR 05-03 11:00:00 [multiproc_executor.py:671]   File "
    '"/opt/lib/site-packages/vllm/worker.py", line 8, in step\n'
    "(Worker_TP1 pid=12) ERROR 05-03 11:00:00 [multiproc_executor.py:671] IndexError: no such row\n"
)
STRAY = (
    "Traceback (most recent call last):\n"
    '  File "/opt/lib/site-packages/vllm/usage.py", line 8, in report\n'
    "PermissionError: [Errno 13] Permission denied: '/.config'\n"
)
PUSH = STRAY.replace("PermissionError: [Errno 13] Permission denied: '/.config'",
                     "requests.exceptions.ConnectionError: no answer")  # fmt: skip


@pytest.mark.parametrize(
    ("log", "error"),
    [
        pytest.param(START + UP + FAULT + SIGN, "IndexError: no such row", id="a worker"),
        pytest.param(START + FAULT + SIGN, "IndexError: no such row", id="before it serves"),
        pytest.param(START + UP + CLIENT + SIGN, None, id="a refused request"),
        pytest.param(START + UP + CLIENT + FAULT + SIGN, "IndexError: no such row", id="both"),
        pytest.param(START + STRAY + UP + SIGN, None, id="a start that went on"),
        pytest.param(START + UP + PUSH + SIGN, None, id="a client of another service"),
        pytest.param(
            START + UP + STRAY + FAULT + SIGN, "IndexError: no such row", id="a neighbour"
        ),
    ],
)
def test_the_exception_that_the_engine_died_of(log: str, error: str | None) -> None:
    source = Source("a.log", io.BytesIO(log.encode()))
    scanned = Scanner(load_builtin().signals, unwrappers()).scan(source)
    [section] = scanned.sections
    dead: Any = derive(section.lives[-1], 1).facts["engine_dead"]
    assert dead
    assert dead["error"] == error
