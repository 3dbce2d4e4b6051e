"""What a transport wrapped round a line is told from what the program wrote."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff import envelopes
from logdiff.envelopes import Unwrapped, docker_timestamps
from logdiff.envelopes._unread import refuse
from logdiff.errors import InputError
from logdiff.read import open_source

if TYPE_CHECKING:
    from pathlib import Path

STAMP = b"2026-12-01T02:02:50.838942142Z"


def modules() -> list[Any]:
    return [import_module(f"logdiff.envelopes.{name}") for name in envelopes.names()]


def test_registry_is_the_folder() -> None:
    assert "docker_timestamps" in envelopes.names()
    assert [unwrap.__module__.rpartition(".")[2] for unwrap in envelopes.unwrappers()] == (
        envelopes.names()
    )


@pytest.mark.parametrize("module", modules(), ids=envelopes.names())
def test_samples_of_an_envelope(module: Any) -> None:
    assert module.SAMPLES
    for line, payload in module.SAMPLES:
        found = module.unwrap(line)
        assert found.envelope == module.NAME
        assert line[found.payload :].startswith(payload)
        assert bool(line[found.payload :]) == bool(payload)
        assert module.sniff(line)


@pytest.mark.parametrize("module", modules(), ids=envelopes.names())
@given(payload=st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"")))
def test_what_is_wrapped_is_unwrapped(module: Any, payload: bytes) -> None:
    line = module.wrap(payload)
    found = module.unwrap(line)
    assert found is not None
    assert line[found.payload :] == payload


@pytest.mark.parametrize(
    ("line", "payload"),
    [
        (STAMP + b" ModuleNotFoundError: No module named 'x'",
         b"ModuleNotFoundError: No module named 'x'"),
        (STAMP + b"   indented", b"  indented"),
        (STAMP + b" ", b""),
        (STAMP, b""),
        (STAMP + b"\r", b"\r"),
        (STAMP + b"\r\r", b"\r\r"),
        (STAMP + b" text\r", b"text\r"),
        # a line of over 16 KiB carries the stamp again in its middle: that is text
        (STAMP + b" a" + STAMP + b" b", b"a" + STAMP + b" b"),
    ],
)  # fmt: skip
def test_docker_stamp(line: bytes, payload: bytes) -> None:
    found = docker_timestamps.unwrap(line)
    assert found == Unwrapped("docker-timestamps", len(line) - len(payload), (0, 19))
    assert line[slice(*(found.time or ()))] == b"2026-12-01T02:02:50"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"INFO 08-07 08:26:54 a.py:1] x",
        b" " + STAMP + b" x",
        STAMP + b"x",
        b"2026-12-01T02:02:50Z x",
        b"2026-12-01T02:02:50.838Z x",  # podman, CI: other envelopes
        b"2026-12-01T02:02:50.838942142+00:00 stdout F x",
        b"2026-12-01 02:02:50.838942142Z x",
    ],
)
def test_no_docker_stamp(line: bytes) -> None:
    assert docker_timestamps.unwrap(line) is None
    assert not docker_timestamps.sniff(line)


def test_parts_move_together() -> None:
    assert Unwrapped("e", 4, (1, 3)).moved(3) == Unwrapped("e", 7, (4, 6))
    assert Unwrapped("e", 4, None).moved(3) == Unwrapped("e", 7, None)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('{"log":"INFO:     up\\n","stream":"stderr","time":"2026-05-02T10:00:00Z"}', "json-file"),
        ("2026-05-02T10:00:00.262183797+00:00 stdout F INFO:     up", "Kubernetes"),
        ("serving-1  | INFO:     up", "docker compose"),
        ("[pod/serving-7b/engine] INFO:     up", "kubectl"),
        ("May  2 10:00:00 host engine[71]: INFO:     up", "journald"),
    ],
)
def test_a_transport_that_is_not_unwrapped_is_refused(line: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "wrapped.log"
    path.write_text(f"{line}\n" * 30 + "a line of its own\n" * 10)
    source = open_source(str(path))
    with pytest.raises(InputError, match=name) as refused:
        refuse(source)
    source.close()
    assert "docker logs -t" in (refused.value.hint or "")
    path.write_text(f"{line}\n" + "INFO 05-02 10:00:09 a.py:1] a | b\n" * 30)
    source = open_source(str(path))
    refuse(source)
    source.close()
