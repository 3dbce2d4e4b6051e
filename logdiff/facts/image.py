"""What does not belong together in an image: modules, libraries, symbols and signatures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from logdiff.facts.distributions import (
    ENGINES,
    distribution_of,
    is_of_an_engine,
    is_well_known,
)
from logdiff.facts.libraries import missing_libraries, package_of
from logdiff.model import Entry, Evidence
from logdiff.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logdiff.extract.observations import Group
    from logdiff.extract.traceback import Raised
    from logdiff.facts.context import Context

_SIGNATURE = compiled(
    r"(?P<called>[\w.<>:]{1,200})\(\):? (?P<problem>"
    r"got an unexpected keyword argument '(?P<unexpected>\w{1,80})'"
    r"|got multiple values for (?:keyword )?argument '(?P<twice>\w{1,80})'"
    r"|missing \d{1,3} required (?:positional|keyword-only) arguments?: '(?P<missing>\w{1,80})'"
    r"|takes (?:from \d{1,3} to )?\d{1,3} positional arguments? but \d{1,3} "
    r"(?:\w{1,30} ){0,8}(?:was|were) given"
    r"|takes no (?:keyword )?arguments?"
    # What compiled functions say, of pybind and of torch.
    r"|incompatible function arguments"
    r"|expected at most \d{1,3} argument\(s\) but received \d{1,3} argument\(s\)"
    r"|is missing value for argument '(?P<absent>\w{1,80})')"
)
_MANGLED = compiled(r"(\d{1,3})(?=[A-Za-z_])")
_RUNTIME = ("GLIBC_", "GLIBCXX_", "CXXABI_", "GCC_", "OPENSSL_")
"""Versions of the libraries of the system, which programs ask for as they do for symbols."""
_NVIDIA = ("__nvJitLink", "nvJitLink", "nccl", "cublas", "cudnn", "cusparse", "cufft", "cuda")
"""Symbols of the libraries that torch brings in wheels of their own."""
_TORCH = ("at", "c10", "torch", "caffe2")


def set_image(context: Context) -> None:
    """Set what the parts of an image lack of one another; the death must be known."""
    context.set_list("modules_missing", _modules(context), context.came_to("args"))
    # What is wrong here is said aloud: a log that says nothing of it has nothing of it.
    known = context.seen.last_text_line > 0
    context.set_list("libraries_missing", missing_libraries(context, _death(context)), known)
    context.set_list("symbols_missing", _symbols(context), known)
    context.set_list("signature_mismatches", _signatures(context), known)


# Modules


def _modules(context: Context) -> list[Entry]:
    """Modules, or names in modules, that could not be imported, one entry each."""
    merged: dict[tuple[str, str | None], list[Group]] = {}
    for group in context.groups("module-missing", "import-failed"):
        key = group.texts["module"] or "", group.texts.get("name")
        merged.setdefault(key, []).append(group)
    return [_module(context, *key, groups) for key, groups in merged.items()]


def _module(context: Context, module: str, name: str | None, groups: list[Group]) -> Entry:
    raised = next((r for r in _import_errors(context) if _names(r.message, module, name)), None)
    place = raised.where if raised else None
    proofs = context.proofs(groups)
    values = {
        "module": module,
        "name": name,
        # Python names the parent where that is what is missing.
        "parent": module.rpartition(".")[0] or None,
        "package": distribution_of(module),
        "engine": is_of_an_engine(module),
        "known": is_well_known(module),
        "where": str(place) if place else next((g.place for g in groups if g.place), None),
        "file": place.path.rpartition("/")[2] if place else None,
        "raised": raised is not None or any(group.level is None for group in groups),
        "fatal": _kills(context, module, name),
        "occurrences": sum(proof.count for proof in proofs),
        "workers": sorted({worker for proof in proofs for worker in proof.workers}),
    }
    return Entry(values, proofs, context.stage_at(groups[0].first.line))


def _import_errors(context: Context) -> Iterable[Raised]:
    raised = context.seen.tracebacks.raised.values()
    kinds = ("ModuleNotFoundError", "ImportError", "AttributeError")
    return (r for r in raised if r.kind.endswith(kinds))


def _names(message: str, module: str, name: str | None) -> bool:
    return f"'{module}'" in message and (name is None or f"'{name}'" in message)


def _kills(context: Context, module: str, name: str | None) -> bool:
    """Whether the engine died because it could not import something."""
    error = _death(context)
    if _names(error, module, name):
        return True
    said = "import" in error.lower() or "install" in error.lower()
    return said and re.search(rf"\b{re.escape(module)}\b", error) is not None


def _death(context: Context) -> str:
    dead = context.life.facts["engine_dead"]
    return (dead["error"] or "") if dead else ""


# Symbols of compiled libraries


def _symbols(context: Context) -> list[Entry]:
    merged: dict[str, list[Group]] = {}
    for group in context.groups("undefined-symbol"):
        merged.setdefault(group.texts["symbol"] or "", []).append(group)
    return [_symbol(context, symbol, groups) for symbol, groups in merged.items()]


def _symbol(context: Context, symbol: str, groups: list[Group]) -> Entry:
    proofs = context.proofs(groups)
    texts = groups[0].texts
    readable = readable_symbol(symbol)
    library = texts.get("library") or None
    values: dict[str, Any] = {
        "symbol": symbol,
        "readable": readable,
        "library": library,
        "provider": texts.get("provider") or None,
        "torch": readable.partition("::")[0] in _TORCH or symbol.startswith("c10_"),
        "vendor": symbol.startswith("aclnn"),
        "runtime": symbol.startswith(_RUNTIME),
        "nvidia": symbol.startswith(_NVIDIA),
        "package": package_of(library) if library else None,
        "fatal": symbol[:60] in _death(context) or "_OpNamespace" in _death(context),
        "occurrences": sum(proof.count for proof in proofs),
    }
    return Entry(values, proofs, context.stage_at(groups[0].first.line))


def readable_symbol(symbol: str) -> str:
    """The qualified name in a mangled C++ symbol; a symbol that is not mangled as it is."""
    if not symbol.startswith("_Z"):
        return symbol
    nested = symbol.startswith("_ZN")
    position = len("_ZN" if nested else "_Z")
    if nested:
        position += len(symbol[position:]) - len(symbol[position:].lstrip("KVRO"))
    names: list[str] = []
    if symbol.startswith("St", position):
        names.append("std")
        position += len("St")
    while match := _MANGLED.match(symbol, position):
        end = match.end() + int(match[1])
        names.append(symbol[match.end() : end])
        position = end
        if not nested:
            break
    return "::".join(names) or symbol


# Signatures


def _signatures(context: Context) -> list[Entry]:
    """Calls that do not fit the function that is called."""
    found = []
    raised = sorted(context.seen.tracebacks.raised.values(), key=lambda r: r.first.line)
    for exception in raised:
        match = _SIGNATURE.match(exception.message)
        if match is None or exception.kind.rpartition(".")[2] not in ("TypeError", "RuntimeError"):
            continue
        caller = exception.caller
        values = {
            "called": match["called"],
            "problem": match["problem"].replace("incompatible", "got incompatible"),
            "argument": match["unexpected"]
            or match["twice"]
            or match["missing"]
            or match["absent"],
            "where": str(caller) if caller else None,
            "file": caller.path.rpartition("/")[2] if caller else None,
            "path": caller.path if caller else None,
            "serving": caller is None or _is_of_a_server(caller.path),
            "fatal": match[0][:200] in _death(context),
            "occurrences": exception.count,
        }
        proof = Evidence(exception.first, exception.count, context.names(exception.workers))
        found.append(Entry(values, [proof], context.stage_at(exception.first.line)))
    return found


def _is_of_a_server(path: str) -> bool:
    """Whether a file belongs to an engine, its plugins or a model, and not to a client."""
    folders = path.replace("\\", "/").split("/")
    return any(
        folder in ("site-packages", "dist-packages", "transformers_modules")
        or folder.replace("-", "_").startswith(ENGINES)
        for folder in folders
    )
