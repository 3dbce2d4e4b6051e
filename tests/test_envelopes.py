"""What a transport wrapped round a line is told from what the program wrote."""

from __future__ import annotations

import io
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logdiff import envelopes
from logdiff.envelopes import Unwrapped, _clock, _copies, docker_swarm, docker_timestamps
from logdiff.envelopes._copies import copies
from logdiff.envelopes._recognise import Recognised, recognised
from logdiff.pipeline import Reader, judged_life
from logdiff.read import Source

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

STAMP = b"2026-12-01T02:02:50.838942142Z"
IN_PLACE = "docker_timestamps"
REWRITTEN = [name for name in envelopes.names() if name != IN_PLACE]
TIMED = [name for name in REWRITTEN if name not in ("docker_compose", "kubectl_prefix")]


def module(name: str) -> Any:
    return import_module(f"logdiff.envelopes.{name}")


def source_of(data: bytes) -> Source:
    return Source("a.log", io.BytesIO(data))


def envelope_of(source: Source) -> Any:
    found = recognised(source)
    return found and found.envelope


def in_front(envelope: ModuleType) -> Recognised:
    return Recognised(envelope, behind_time=False)


def texts(sources: list[Source]) -> dict[str, list[bytes]]:
    """Service → the lines of its copy."""
    found = {}
    for source in sources:
        found[source.service] = source.read_at(0, source.size).split(b"\n")[:-1]
        source.close()
    return found


def without_time(line: bytes) -> bytes:
    unwrapped = docker_timestamps.unwrap(line)
    return line[unwrapped.payload :] if unwrapped else line


def unwrapped_by(envelope: ModuleType, data: bytes) -> list[bytes]:
    """What the program wrote, as the only copy of a log tells it."""
    [lines] = texts(copies(source_of(data), in_front(envelope))).values()
    return [without_time(line) for line in lines]


def test_registry_is_the_folder() -> None:
    assert {IN_PLACE, "docker_json_file", "kubernetes_cri"} <= set(envelopes.names())
    assert all(name.replace("_", "-") == module(name).NAME for name in envelopes.names())
    assert envelopes.unwrappers() == [docker_timestamps.unwrap]


@pytest.mark.parametrize("name", REWRITTEN)
def test_samples_are_recognised_by_one_envelope_only(name: str) -> None:
    envelope: Any = module(name)
    for line, payload in envelope.SAMPLES:
        data = (line + b"\n") * 6
        assert envelope_of(source_of(data)) == envelope
        said = [text for text in unwrapped_by(envelope, data) if text]
        assert bool(said) == bool(payload)
        assert all(text.startswith(payload) for text in said)


def test_samples_that_stay_as_they_are() -> None:
    for line, payload in docker_timestamps.SAMPLES:
        found = docker_timestamps.unwrap(line)
        assert found
        assert line[found.payload :].startswith(payload)
        assert envelope_of(source_of((line + b"\n") * 6)) is None


LINES = st.lists(
    st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"")), min_size=1, max_size=8
)


@pytest.mark.parametrize("name", REWRITTEN)
@given(payloads=LINES)
def test_what_is_wrapped_is_unwrapped(name: str, payloads: list[bytes]) -> None:
    envelope = module(name)
    payloads = [line for line in payloads if not docker_timestamps.unwrap(line)]
    if name == "docker_json_file":  # the daemon replaces what is no UTF-8 before it keeps it
        payloads = [line.decode("utf-8", "replace").encode() for line in payloads]
    data = b"".join(envelope.wrap(line) + b"\n" for line in payloads)
    got = unwrapped_by(envelope, data)
    if name == "journald_export":
        assert [line for line in got if line] == [line for line in payloads if line]
    else:
        assert got == payloads


@given(payload=st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"")))
@example(b"x" * 40_000)
@example(b"y" * 16_384)
def test_what_docker_timestamps_wrap_is_unwrapped(payload: bytes) -> None:
    line = docker_timestamps.wrap(payload)
    found = docker_timestamps.unwrap(line)
    assert found
    ends = [*(start for start, _ in found.cuts), len(line)]
    starts = [found.payload, *(end for _, end in found.cuts)]
    kept = b"".join(line[start:end] for start, end in zip(starts, ends, strict=True))
    if b"Z \r" not in line:
        assert kept == payload


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
        # a time in the midst of a short line is text
        (STAMP + b" a" + STAMP + b" b", b"a" + STAMP + b" b"),
        # podman gives each state of a progress bar a time, and what follows it as well
        (STAMP + b" \rshards 0/2" + STAMP + b" \rshards 2/2" + STAMP + b" INFO:     up",
         b"INFO:     up"),
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
        b"2026-12-01T02:02:50.838Z x",  # kubectl, CI: another envelope
        b"2026-12-01T02:02:50.838942142+00:00 stdout F x",
        b"2026-12-01 02:02:50.838942142Z x",
    ],
)
def test_no_docker_stamp(line: bytes) -> None:
    assert docker_timestamps.unwrap(line) is None


def test_parts_move_together() -> None:
    assert Unwrapped("e", 4, (1, 3), ((5, 6),)).moved(3) == Unwrapped("e", 7, (4, 6), ((8, 9),))
    assert Unwrapped("e", 4, None).moved(3) == Unwrapped("e", 7, None)


@pytest.mark.parametrize(
    "text",
    [
        b"INFO 05-02 10:00:09 a.py:1] a | b\n" * 30,
        b"loading |####      | 3/9\n" * 30,
        b"INFO     | up\nINFO     | served\nERROR    | refused\n" * 9,
        b"2026-05-02 10:00:09.120 | INFO     | serving:start:12 - up\n" * 30,
        b"".join(b"row%d   | value\n" % number for number in range(40)),  # a table
        b"level=info msg=up\nlevel=warn msg=down\nlevel=info msg=up\n" * 9,
        b'{"event": "up", "log": 3}\n' * 30,
        b"INFO:     up\n" * 30 + b"serving-1  | INFO:     up\n" * 9,
    ],
)
def test_text_that_only_looks_wrapped_is_left_alone(text: bytes) -> None:
    assert envelope_of(source_of(text)) is None


def test_an_envelope_that_begins_in_the_midst_of_a_file_is_recognised() -> None:
    plain = b"INFO 05-02 10:00:09 a.py:1] up\n" * 2_000
    wrapped = b"2026-05-02T10:00:01.5Z stdout F text\n" * 4_000
    assert envelope_of(source_of(plain + wrapped)) is module("kubernetes_cri")
    lines = unwrapped_by(module("kubernetes_cri"), plain + wrapped)
    assert lines == [*plain.split(b"\n")[:-1], *[b"text"] * 4_000]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_what_is_no_part_of_a_block_stays(end: bytes) -> None:
    block = [b"__CURSOR=s=1", b"__REALTIME_TIMESTAMP=1777716001000001", b"MESSAGE=up", b""]
    plain = [b"INFO 05-02 10:00:09 a.py:1] a=1, b", b"Z=1 is plain", b"  File x.py"]
    log = end.join([*block, *plain, b"", *block, b""])
    [texts_and_times] = texts(copies(source_of(log), in_front(module("journald_export")))).values()
    assert b"2026-05-02T10:00:01.000001000Z up" in texts_and_times
    lines = [line.removesuffix(b"\r") for line in unwrapped_by(module("journald_export"), log)]
    assert lines == [b"", b"", b"up", b"", *plain, b"", b"", b"", b"up"]


@pytest.mark.parametrize(
    "wrong",
    [
        b"\xff\xff\xff\xff\0\0\0\0INFO:     up",
        b"INFO:     up",
        b"\x0a\0\0\0\0\0\0\0INFO:     up",
        b"\xef\xbf\xbd\0\0\0\0\0\0\0INFO:     up",
    ],
)
def test_a_wrong_length_ends_with_its_block(wrong: bytes) -> None:
    head = b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1777716001000001\n"
    log = head + b"MESSAGE\n" + wrong + b"\nPRIORITY=6\n\n" + head + b"MESSAGE=bye\n\n"
    made = copies(source_of(log), in_front(module("journald_export")))
    damaged = not wrong.startswith(b"\x0a")
    assert ("damaged" in "".join(made[0].notes)) is damaged
    [lines] = texts(made).values()
    assert [without_time(line) for line in lines if line] == [
        b"INFO:     up"[: 12 if damaged else 10],
        b"bye",
    ]


TABLE = "\n".join(f"gpu{number % 3}   | mem {number} | 30% |" for number in range(60))
OBJECTS = "\n".join(f'{{"log":"text {number}","level":"info"}}' for number in range(60))


@pytest.mark.parametrize("text", [TABLE, OBJECTS])
def test_what_a_program_prints_itself_is_no_transport(text: str) -> None:
    assert recognised(source_of(text.encode())) is None


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_byte_order_mark_is_no_part_of_the_first_line(name: str) -> None:
    wrap = module(name).wrap
    log = b"".join(wrap(b"text %d" % number) + b"\n" for number in range(9))
    marked = source_of(b"\xef\xbb\xbf" + log)
    assert envelope_of(marked) is module(name)
    assert texts(copies(marked, in_front(module(name)))) == texts(
        copies(source_of(log), in_front(module(name)))
    )


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_line_above_the_log_changes_nothing(name: str) -> None:
    log = b"".join(module(name).wrap(b"text %d" % number) + b"\n" for number in range(30))
    headed = source_of(b"$ the command that captured it\n" + log)
    assert envelope_of(headed) is module(name)
    [lines] = texts(copies(headed, in_front(module(name)))).values()
    assert [line for line in lines if b"text" in line][-1].endswith(b"text 29")
    assert lines[0].endswith(b"$ the command that captured it")
    assert (
        sum(line.endswith(b"text %d" % n) for n, line in enumerate(filter(None, lines[1:]))) == 30
    )


# Parts and services


def test_parts_of_a_line_are_joined_at_its_first() -> None:
    log = (
        b"2026-05-02T10:00:01Z stdout P one \n"
        b"2026-05-02T10:00:02Z stderr F error\n"
        b"2026-05-02T10:00:03Z stdout P two \n"
        b"2026-05-02T10:00:04Z stdout F three\n"
        b"2026-05-02T10:00:05Z stdout P no end"
    )
    [lines] = texts(copies(source_of(log), in_front(module("kubernetes_cri")))).values()
    assert lines == [
        b"2026-05-02T10:00:01.000000000Z one two three",
        b"2026-05-02T10:00:02.000000000Z error",
        b"",
        b"",
        b"2026-05-02T10:00:05.000000000Z no end",
    ]


def test_an_end_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_copies, "_WAITING_LIMIT", 3)
    log = b"2026-05-02T10:00:01Z stdout P begun\n" + b"2026-05-02T10:00:02Z stderr F e\n" * 9
    assert unwrapped_by(module("kubernetes_cri"), log) == [b"begun", *[b"e"] * 9]


def test_each_service_has_a_copy_in_which_lines_keep_their_numbers() -> None:
    log = (
        b"Attaching to proxy-1, serving-1\n"
        b"proxy-1    | listening\n"
        b"serving-1  | INFO:     up\n"
        b"serving-1 exited with code 137\n"
        b"proxy-1    | refused\n"
    )
    assert texts(copies(source_of(log), in_front(module("docker_compose")))) == {
        "proxy-1": [b"Attaching to proxy-1, serving-1", b"listening", b"", b"", b"refused"],
        "serving-1": [
            b"Attaching to proxy-1, serving-1",
            b"",
            b"INFO:     up",
            b"serving-1 exited with code 137",
        ],
    }


def test_what_the_kernel_says_concerns_every_service() -> None:
    log = (
        b"May 02 10:00:01 node-7 serving[71]: INFO:     up\n"
        b"May 02 10:00:02 node-7 proxy[72]: listening\n"
        b"May 02 10:00:03 node-7 kernel: Out of memory: Killed process 71 (serving)\n"
    )
    found = texts(copies(source_of(log), in_front(module("journald_short"))))
    assert found["serving"][2] == found["proxy"][2]
    assert found["serving"][2].startswith(b"Out of memory")


def test_a_long_line_without_a_time_is_that_of_its_task() -> None:
    text = b"x" * docker_timestamps.PART_BYTES * 2
    log = b"serving.1.abcdefghijkl@node-7    | " + text + b"\n"
    assert unwrapped_by(docker_swarm, log) == [text]


def test_a_log_in_front_of_those_of_several_services_is_of_its_own() -> None:
    plain = [b"INFO 05-02 10:00:09 a.py:%d] up" % number for number in range(50)]
    log = b"\n".join([*plain, b"web-1  | a", b"serving-1  | b", b"", b"note", b"web-1  | c"])
    assert texts(copies(source_of(log), in_front(module("docker_compose")))) == {
        "web-1": [*[b""] * 50, b"a", b"", b"", b"note", b"c"],
        "serving-1": [*[b""] * 51, b"b", b"", b"note"],
        "": plain,
    }


def test_a_log_in_front_of_that_of_one_service_is_of_it() -> None:
    plain = [b"INFO 05-02 10:00:09 a.py:%d] up" % number for number in range(50)]
    log = b"\n".join([b"serving-1  | a", *plain, b"serving-1  | b"])
    assert unwrapped_by(module("docker_compose"), log) == [b"a", *plain, b"b"]


INNER = ("docker_compose", "docker_json_file", "kubectl_prefix", "docker_swarm")


@pytest.mark.parametrize("outer", TIMED)
@pytest.mark.parametrize("inner", INNER)
def test_a_transport_within_one_that_gives_the_time(inner: str, outer: str, tmp_path: Path) -> None:
    log = b"".join(
        module(outer).wrap(module(inner).wrap(b"INFO:     up %d" % number)) + b"\n"
        for number in range(30)
    )
    path = tmp_path / "nested.log"
    path.write_bytes(log)
    with Reader() as reader:
        read = reader.log(str(path))
        [section] = read.log.sections
        source = read.source_of(section)
        assert source
        lines = source.read_at(0, source.size).split(b"\n")
    assert len(section.envelopes) == 2
    assert [without_time(line) for line in lines if line][-1] == b"INFO:     up 29"
    assert all(docker_timestamps.unwrap(line) for line in lines if line)


def test_services_past_the_limit_are_read_with_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_copies, "SERVICE_LIMIT", 2)
    log = b"".join(b"service-%d  | text %d\n" % (number, number) for number in range(4))
    made = copies(source_of(log), in_front(module("docker_compose")))
    assert "more than 2 services" in made[0].notes[0]
    found = texts(made)
    assert found == {"service-0": [b"text 0"], "service-1": [b"", b"text 1", b"text 2", b"text 3"]}


def test_a_line_that_two_tasks_tore_goes_to_both() -> None:
    first, second = (b"serving.%d.abcdefghijk%d@node-7    | " % (n, n) for n in (1, 2))
    part = b"x" * docker_timestamps.PART_BYTES * 2
    stamp = b"2026-05-02T10:00:01.000000001Z "
    log = stamp + first + part + stamp + second + part + stamp + first + b"end\n"
    lines = texts(copies(source_of(log), in_front(docker_swarm)))
    assert lines == {
        "serving.1.abcdefghijk1@node-7": [stamp + part + b"end"],
        "serving.2.abcdefghijk2@node-7": [stamp + part],
    }


def test_a_message_of_several_lines_keeps_them() -> None:
    text = b"Traceback (most recent call last):\n  File x\nKeyError: 1"
    log = module("journald_export").wrap(text) + b"\n"
    lines = unwrapped_by(module("journald_export"), log)
    at = lines.index(b"Traceback (most recent call last):")
    assert lines[at : at + 3] == text.split(b"\n")
    assert log.split(b"\n")[at + 1] == b"  File x"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("journald_short", b"May 02 10:00:01 node-7 serving[71]: [37B blob data]"),
        ("journald_json", b'{"MESSAGE":null,"__REALTIME_TIMESTAMP":"1777716001000001"}'),
    ],
)
def test_what_the_journal_leaves_out_is_counted(name: str, line: bytes) -> None:
    [copy] = copies(source_of(line + b"\n" + line + b"\n"), in_front(module(name)))
    assert copy.lost_lines == 2
    copy.close()


@pytest.mark.parametrize(
    ("stamp", "utc"),
    [
        (b"2026-05-02T10:00:01Z", b"2026-05-02T10:00:01.000000000Z"),
        (b"2026-05-02T10:00:01.5+00:00", b"2026-05-02T10:00:01.500000000Z"),
        (b"2026-05-02T07:00:01.25+08:00", b"2026-05-01T23:00:01.250000000Z"),
        (b"2026-05-02T23:30:00-0330", b"2026-05-03T03:00:00.000000000Z"),
        (b"2026-13-41T10:00:01+08:00", None),
        (b"0001-01-01T00:00:00+08:00", None),
        (b"2026-05-02T10:00:01", None),
        (b"", None),
    ],
)
def test_times_in_utc(stamp: bytes, utc: bytes | None) -> None:
    assert _clock.in_utc(stamp) == utc


def test_times_of_the_journal() -> None:
    assert _clock.of_microseconds(1_777_716_001_000_001) == b"2026-05-02T10:00:01.000001000Z"
    assert _clock.of_microseconds(10**19) is None


@pytest.mark.parametrize("name", REWRITTEN)
@given(data=st.binary(max_size=200))
@example(b'{"log":"\\ud800","stream":"a","time":"x"}\n')
@example(b'{"__REALTIME_TIMESTAMP":{},"MESSAGE":[[]]}\n')
@example(b"__CURSOR=\nMESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xff\nx")
def test_whatever_stands_there_is_read(name: str, data: bytes) -> None:
    for copy in copies(source_of(data), in_front(module(name))):
        assert copy.read_at(0, copy.size).count(b"\n") <= data.count(b"\n") + 1
        copy.close()


# The same log in each envelope


def facts_of(path: Path) -> dict[str, Any]:
    with Reader() as reader:
        log = reader.log(str(path)).log
        section = next(s for s in log.sections if s.service in ("", "serving-1"))
        return judged_life(section, "bad").facts


def fixture_logs(fixtures: Path) -> list[Path]:
    return sorted(fixtures.glob("*/*/container.log"))


@pytest.mark.parametrize("name", ["docker_compose", "kubectl_prefix"])
def test_facts_are_those_of_the_bare_log(
    name: str, fixtures_directory: Path, tmp_path: Path
) -> None:
    bare, other = tmp_path / "bare.log", tmp_path / "wrapped.log"
    for path in fixture_logs(fixtures_directory):
        lines = [without_time(line) for line in path.read_bytes().splitlines()]
        bare.write_bytes(b"".join(line + b"\n" for line in lines))
        other.write_bytes(b"".join(module(name).wrap(line) + b"\n" for line in lines))
        assert facts_of(other) == facts_of(bare)


@pytest.mark.parametrize("name", TIMED)
def test_facts_are_those_of_the_same_log_with_the_times_of_docker(
    name: str, fixtures_directory: Path, tmp_path: Path
) -> None:
    other = tmp_path / "wrapped.log"
    stamped = [
        path
        for path in fixture_logs(fixtures_directory)
        if docker_timestamps.unwrap(path.read_bytes().partition(b"\n")[0])
    ]
    assert stamped
    for path in stamped:
        stamp, lines = b"", []
        for line in path.read_bytes().splitlines():
            stamp = line.partition(b" ")[0] if docker_timestamps.unwrap(line) else stamp
            lines.append(module(name).wrap(without_time(line), stamp) + b"\n")
        other.write_bytes(b"".join(lines))
        assert facts_of(other) == facts_of(path)


REAL = {
    "docker-api.multiplexed.bin": ["docker-api, docker-timestamps"],
    "docker-api.tty.raw": ["none"],
    "docker-compose-logs-one.txt": ["docker-compose"],
    "docker-compose-logs-t-ansi.txt": ["docker-compose, docker-timestamps"] * 2,
    "docker-compose-logs.script.txt": ["docker-compose"] * 2,
    "docker-compose-logs.txt": ["docker-compose"] * 2,
    "docker-json-file.notty.json.log": ["docker-json-file"],
    "docker-json-file.tty.json.log": ["docker-json-file"],
    "docker-logs-t-details.txt": ["docker-details"],
    "docker-logs-t.merged.txt": ["docker-timestamps"],
    "docker-logs.tty-container.txt": ["none"],
    "docker-service-logs-t.txt": ["docker-swarm"] * 2,
    "docker26-json-file.json.log": ["docker-json-file"],
    "journald-cat.txt": ["none"],
    "journald-export.bin": ["journald-export"],
    "journald-short-iso.txt": ["journald-short"],
    "journald-short.txt": ["journald-short"],
    "podman-k8s-file.cri.log": ["kubernetes-cri"],
    "podman-logs-names.txt": ["docker-timestamps"],
    "podman-run.txt": ["none"],
}
"""Real captures of one program → what was round their lines, by service."""


@pytest.mark.parametrize("name", REAL)
def test_real_captures_of_one_program_say_the_same(name: str, shared: Path) -> None:
    folder = shared / "buildlogs" / "container"
    with Reader() as reader:
        read = reader.log(str(folder / name))
        assert [", ".join(section.envelopes) for section in read.log.sections] == REAL[name]
        [server] = [s for s in read.log.sections if s.kind == "serve"][:1]
        facts = server.lives[-1].facts
        source = read.source_of(server)
        assert source
        text = b"\n".join(map(without_time, source.read_at(0, source.size).split(b"\n")))
    assert facts["engine.version"] == "0.6.3+corex.4.3.0"
    assert [error["message"] for error in facts["exceptions"]] == ["No module named 'corex_moe'"]
    assert facts["engine_dead"]["error"] == "ModuleNotFoundError: No module named 'corex_moe'"
    if name in ("journald-cat.txt", "podman-logs-names.txt", "docker-compose-logs.txt"):
        return  # lines of the two streams are torn or out of order in the capture itself
    for line in (
        b"INFO 12-01 02:00:01 api_server.py:528] vLLM API server version 0.6.3+corex.4.3.0",
        b"WARNING 12-01 02:00:01 config.py:1668] Casting torch.bfloat16 to torch.float16.",
        b'  File "/app/serve.py", line 12, in <module>',
        b"    import corex_moe",
    ):
        assert line in text.replace(b"\r", b"").split(b"\n"), line


def test_a_chatty_neighbour_changes_nothing(shared: Path, tmp_path: Path) -> None:
    paths = sorted((shared / "runs").glob("*-bad-*.log"))[::2]
    assert paths
    crowded = tmp_path / "crowded.log"
    for path in paths:
        lines = [
            b"serving-1  | " + without_time(line) + b"\n" + b"web-1  | GET /health 200\n" * 9
            for line in path.read_bytes().splitlines()
        ]
        crowded.write_bytes(b"".join(lines))
        alone = tmp_path / "alone.log"
        alone.write_bytes(b"".join(line.partition(b"\n")[0] + b"\n" for line in lines))
        assert facts_of(crowded) == facts_of(alone), path.name
