"""What a command line has that its program does not know, and what may have been meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.model import Entry

if TYPE_CHECKING:
    from logdiff.facts.context import Context

_PROGRAMS = {
    "launch_server.py": "sglang",
    "sglang": "sglang",
    "llama-server": "llama.cpp",
    "vllm": "vllm",
    "api_server.py": "vllm",
}


def set_launch(context: Context) -> None:
    """Set the options that a program does not know; only a usage error names them."""
    groups = context.groups("flag-unknown")
    if not groups:
        context.set("flags_unknown", None)
        return
    from logdiff.facts.flag_names import suggestion

    entries = []
    for group in groups:
        flag = str(group.texts["flag"])
        program = group.texts.get("program")
        engine = _PROGRAMS.get(program or "", context.life.facts["engine.name"])
        found = suggestion(flag, engine)
        values = {
            "flag": flag,
            "value": group.texts.get("value"),
            "program": program,
            "engine": engine,
            "instead": found.flag if found else None,
            "reason": found.reason if found else None,
        }
        entries.append(Entry(values, context.proofs([group]), None))
    context.set_list("flags_unknown", entries, known=True)
