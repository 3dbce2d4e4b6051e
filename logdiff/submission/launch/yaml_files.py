"""Launch files in YAML: the platform's own, docker compose, Kubernetes and vLLM's ``--config``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.submission.launch import LaunchConfig
from logdiff.submission.launch.arguments import canonical, read_words
from logdiff.submission.launch.words import scalar_commands
from logdiff.submission.model import Argument, Span, Variable, Word
from logdiff.submission.yaml_nodes import read_documents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logdiff.submission.model import TextFile
    from logdiff.submission.yaml_nodes import Node

_ENGINE_KEYS = frozenset(
    "model max_model_len max_num_seqs max_num_batched_tokens tensor_parallel_size dtype "
    "gpu_memory_utilization served_model_name quantization kv_cache_dtype enforce_eager".split()
)
"""Options of which two make a flat mapping vLLM's own configuration."""
_LEAST_ENGINE_KEYS = 2
_POD_PATHS = (
    ("spec",),
    ("spec", "template", "spec"),
    ("spec", "jobTemplate", "spec", "template", "spec"),
    ("spec", "leaderWorkerTemplate", "leaderTemplate", "spec"),
    ("spec", "leaderWorkerTemplate", "workerTemplate", "spec"),
    ("spec", "predictor"),
)
"""Where the containers of a Pod, a Deployment, a CronJob, a LeaderWorkerSet, … stand."""


def read(file: TextFile) -> list[LaunchConfig]:
    """The servers of a YAML file; none where it is something else."""
    found: list[LaunchConfig] = []
    for document in read_documents(file):
        if document.kind == "mapping":
            found += _servers(file, document)
    return found


def _servers(file: TextFile, document: Node) -> Iterator[LaunchConfig]:
    services = document.get("services")
    if document.get("apiVersion") and document.get("kind"):
        for container in _containers(document):
            yield from _container(file, container, "kubernetes", _text(container.get("name")))
    elif services and services.kind == "mapping":
        for name, service in services.pairs():
            yield from _container(file, service, "compose", name.text)
    elif document.get("command") or document.get("args"):
        yield from _container(file, document, "platform", "")
    else:
        yield from _engine_config(file, document)


def _containers(document: Node) -> Iterator[Node]:
    for path in _POD_PATHS:
        node: Node | None = document
        for key in path:
            node = node.get(key) if node else None
        for key in ("initContainers", "containers"):
            listed = node.get(key) if node else None
            yield from listed.items if listed and listed.kind == "sequence" else ()


def _container(file: TextFile, node: Node, kind: str, name: str) -> Iterator[LaunchConfig]:
    """The server of one container, if it runs one."""
    keys = ("entrypoint", "command") if kind == "compose" else ("command", "args")
    environment_in = node.get("environment" if kind == "compose" else "env")
    for key in reversed(keys):
        words_in = node.get(key)
        if words_in is None:
            continue
        for words in _commands(file, words_in):
            line = read_words(file, words)
            if line is None:
                continue
            image = _text(node.get("image")) or None
            yield LaunchConfig(
                file, kind, name, line.program, line.arguments,
                tuple(_environment(environment_in)), image, words_in, environment_in,
                words[line.start - 1].span if line.start else None,
            )  # fmt: skip
            return


def _commands(file: TextFile, node: Node) -> list[list[Word]]:
    """The commands that a node may hold: a list of words, a text, or a text within the list."""
    if node.kind == "scalar":
        return scalar_commands(file, node)
    if node.kind != "sequence":
        return []
    items = [item for item in node.items if item.kind == "scalar"]
    script = next((item for item in items if len(item.text.split()) > 1 and _is_script(item)), None)
    if script:
        return scalar_commands(file, script)
    return [[Word(item.text, item.span, not item.is_alias) for item in items]]


def _is_script(item: Node) -> bool:
    """Whether an item of a command is a shell command of its own, as behind ``bash -c``."""
    return not item.text.lstrip().startswith(("-", "{", "["))


def _environment(node: Node | None) -> Iterator[Variable]:
    """Variables in any of the forms: a mapping, ``NAME=value`` items, ``name`` and ``value``."""
    if node is None:
        return
    if node.kind == "mapping":
        for name, value in node.pairs():
            if value.kind == "scalar":
                span = Span(name.span.start, value.span.end)
                yield Variable(name.text, value.text, span, _own(value))
        return
    for item in node.items:
        if item.kind == "scalar":
            variable, equals, text = item.text.partition("=")
            yield Variable(variable, text, item.span, _behind(item, text) if equals else None)
        elif (given := item.get("value")) and (named := item.get("name")):
            # A block mapping ends where the next thing begins.
            span = Span(item.span.start, max(named.span.end, given.span.end))
            yield Variable(named.text, given.text, span, _own(given))


def _own(value: Node) -> Span | None:
    """Where a value stands that is used at this place only."""
    return None if value.is_alias or value.anchor else value.span


def _behind(item: Node, text: str) -> Span | None:
    """Where the value of a ``NAME=value`` item stands; None where it is written otherwise."""
    if _own(item) is None or item.style in ("|", ">"):
        return None
    end = item.span.end - bool(item.style)
    return Span(end - len(text.encode()), end)


def _engine_config(file: TextFile, document: Node) -> Iterator[LaunchConfig]:
    names = {canonical("--" + key.text) for key, _ in document.pairs()}
    if len(names & _ENGINE_KEYS) < _LEAST_ENGINE_KEYS:
        return
    arguments = tuple(
        Argument(
            canonical("--" + key.text), key.text, _option_value(value),
            Span(key.span.start, value.span.end), _own(value) if value.kind == "scalar" else None,
        )
        for key, value in document.pairs()
    )  # fmt: skip
    yield LaunchConfig(file, "engine-config", "", "", arguments, (), None, document, None)


def _option_value(value: Node) -> str | bool:
    if value.kind != "scalar":
        return ""
    if value.style is None and value.text.lower() in ("true", "false"):
        return value.text.lower() == "true"
    return value.text


def _text(node: Node | None) -> str:
    return node.text if node and node.kind == "scalar" else ""
