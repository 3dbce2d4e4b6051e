"""What went wrong: the exceptions of a life, and the one that its engine died of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.facts.context import integer, iso
from logdiff.facts.stages import CLIENTS
from logdiff.model import Entry, Evidence
from logdiff.patterns import compiled
from logdiff.redact import redact

if TYPE_CHECKING:
    from logdiff.extract.observations import Group
    from logdiff.extract.traceback import Raised
    from logdiff.facts.context import Context

_CONSEQUENCES = (
    "EngineDeadError",
    "AsyncEngineDeadError",
    "MQEngineDeadError",
    "EngineGenerateError",
    "CancelledError",
)
"""Exceptions that are raised because the engine is dead."""
_ECHO_STARTS = (
    "engine core initialization failed",
    "engine process failed to start",
    "worker failed with error",
    "workerproc initialization failed",
    "caught handled exception",
)
_ECHO_PHRASES = ("see stack trace", "see the stack trace", "see root cause", "see the root cause")
"""What those say that pass on the error of another process."""
_INSPECTION = ("failed to be inspected", "are not supported for now", "raised in subprocess")
"""What is said of a model whose module could not be imported; the import error says why."""
_REQUEST_FILES = ("serving_", "preprocess.py", "chat_utils.py", "serving.py")
"""Files in which the server handles single requests, and answers with 400 what they raise."""
_OF_ENGINE = compiled(rb"Worker|EngineCore|rank\d").search
"""Names of processes in which the engine itself runs."""
_LONGEST_MESSAGE = 400
_EXCEPTION_LIMIT = 200
_NEAR_LINES = 400
"""Lines of text before the first sign of death in which its cause may stand."""


def set_death(context: Context) -> None:
    """Set the exceptions, and why the engine died if it did."""
    _set_exceptions(context)
    _set_engine_dead(context)


def _set_exceptions(context: Context) -> None:
    entries = [
        Entry(
            {
                "type": exception.kind,
                "message": _message(exception.message),
                "where": str(exception.where) if exception.where else None,
                "occurrences": exception.count,
                "first": iso(exception.time),
            },
            _proofs(context, exception),
            context.stage_at(exception.first.line),
        )
        for exception in _raised(context)[:_EXCEPTION_LIMIT]
    ]
    context.set_list("exceptions", entries, context.seen.last_record_line > 0)


def _set_engine_dead(context: Context) -> None:
    if context.life.facts["reached"] != "dead":
        context.set("engine_dead", None)
        return
    signs = context.groups("engine-died", "usage-error")
    root = _root_error(context, signs)
    sign = signs[0] if signs else None
    proofs = context.proofs(signs[:2])
    lines = [sign.first.line] if sign else []
    if root is None:
        error = _stated_error(signs)
    else:
        error = _message(f"{root.kind}: {root.message}".rstrip(": "))
        # What stands in the line is this exception once, whatever others say the same.
        named, *explanation = _proofs(context, root)
        proofs[:0] = [named._replace(count=1), *explanation]
        lines.append(root.first.line)
    first = min(lines, default=0)
    time = root.time if root and (sign is None or root.first.line == first) else None
    if time is None and sign:
        time = sign.time
    value = {"time": iso(time), "error": error, "stage": context.stage_at(first)}
    context.set("engine_dead", value, proofs)


def _root_error(context: Context, signs: list[Group]) -> Raised | None:
    """The exception that killed the engine: the first one that is not an echo of its death."""
    raised = [
        r
        for r in _raised(context)
        if r.kind.rpartition(".")[2] not in _CONSEQUENCES and not _is_echo(r.message)
    ]
    if context.groups("architecture-inspection-failed"):
        own = [r for r in raised if not any(phrase in r.message for phrase in _INSPECTION)]
        raised = own or raised
    places = {sign.place for sign in signs if sign.place}
    same_place = [r for r in raised if places & set(r.places)]
    if same_place:
        return same_place[0]
    if not signs:
        return raised[-1] if raised else None
    sign = signs[0].first.line
    least = sign - _NEAR_LINES * context.seen.spread
    near = [r for r in raised if r.first.line >= least]
    serving = context.life.stage_lines.get("serving", sign)
    if serving < sign:
        near = [r for r in near if r.first.line > serving and not _is_survived(r)]
    # What a process of the engine says of itself comes before what its neighbours say.
    of_engine = [r for r in near if any(map(_OF_ENGINE, r.workers))]
    return next(iter(of_engine or near), None)


def _is_survived(exception: Raised) -> bool:
    """Whether no server that serves dies of it: it is told of one request, or of a client."""
    handled = all(place.startswith(_REQUEST_FILES) for place in exception.places)
    return (bool(exception.places) and handled) or exception.kind.startswith(CLIENTS)


def _stated_error(signs: list[Group]) -> str | None:
    """What the engine says that it dies of, where no exception tells it."""
    refused = next((error for sign in signs if (error := sign.texts.get("error"))), None)
    if refused:
        return _message(refused)
    code = next((code for sign in signs if (code := integer(sign.texts.get("exit")))), None)
    if code is None:
        return None
    how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
    return f"a process of the engine {how}"


def _is_echo(message: str) -> bool:
    """Whether an exception passes on what another process said, or was called off with it."""
    text = message.lower()
    return (
        text == "cancelled"
        or text.startswith(_ECHO_STARTS)
        or any(phrase in text for phrase in _ECHO_PHRASES)
    )


def _raised(context: Context) -> list[Raised]:
    """The exceptions in the order of their first lines."""
    return sorted(context.seen.tracebacks.raised.values(), key=lambda r: r.first.line)


def _proofs(context: Context, exception: Raised) -> list[Evidence]:
    """The line that names an exception, and the one that explains it."""
    workers = context.names(exception.workers)
    marks = [exception.first, exception.explanation]
    return [Evidence(mark, exception.count, workers) for mark in marks if mark]


def _message(text: str) -> str:
    """A message without secrets, no longer than a report can bear."""
    return redact(text)[:_LONGEST_MESSAGE]
