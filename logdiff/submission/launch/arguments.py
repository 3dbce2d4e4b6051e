"""Words of a command line as the arguments of an inference server.

Flags are read as Python's ``argparse`` and vLLM's own parser read them: ``--max-model-len 8192``,
``--max-model-len=8192``, ``--max_model_len``, ``-tp 4``, ``--no-enable-prefix-caching``,
``--compilation-config.level 3``. Sources: ``vllm/utils/argparse_utils.py``,
``vllm/engine/arg_utils.py``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from logdiff.arguments import governs
from logdiff.submission.model import Argument, Span
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logdiff.submission.model import TextFile, Word

_SHORT = {
    "tp": "tensor_parallel_size",
    "pp": "pipeline_parallel_size",
    "dp": "data_parallel_size",
    "dpn": "data_parallel_rank",
    "dpl": "data_parallel_size_local",
    "dpa": "data_parallel_address",
    "dpp": "data_parallel_rpc_port",
    "dcp": "decode_context_parallel_size",
    "n": "nnodes",
    "r": "node_rank",
    "q": "quantization",
    "sc": "speculative_config",
    "cc": "compilation_config",
    "O": "optimization_level",
}
_SWITCH = re.compile(
    r"(?:enable|disable|no|skip|use|return|allow_credentials|calculate|fully|async|show)_\w+"
    r"|enforce_eager|trust_remote_code|language_model_only|headless|allow_credentials|aggregate_"
    r"engine_logging"
)
"""Flags that take no value; some forks and versions take ``true`` or ``false``."""
_NO_SWITCH = frozenset(("use_tqdm_on_load",))
_BOOLEAN = re.compile(r"(?i:true|false)")
_SEVERAL = frozenset(
    "served_model_name lora_modules api_key middleware allowed_origins ignore_patterns "
    "cudagraph_capture_sizes cuda_graph_sizes prompt_adapters logits_processors".split()
)
"""Flags that take all the words up to the next flag."""
_FLAG = re.compile(r"--?[A-Za-z][\w.-]*(?==|\Z)")
_MODULE = re.compile(r"(?:[\w]+\.)*(?:api_server|launch_server|openai_api_server|serve|server)")
_SCRIPT = re.compile(
    r"(?:\S*/)?(?:api_server|launch_server|llama-server|text-generation-launcher)(?:\.py)?"
)
_OF_ANY_SERVER = frozenset(("other", "address", "logging"))
_SERVE = frozenset(("vllm", "sglang", "aphrodite"))


class CommandLine(NamedTuple):
    """The command line of one server."""

    program: str
    """How it is started: ``vllm serve``, ``vllm.entrypoints.openai.api_server``; empty where an
    image's own entry point takes the words."""
    arguments: tuple[Argument, ...]
    start: int
    """Index of the first word behind the program."""


def canonical(flag: str) -> str:
    """The name of an option from its flag: long form, without dashes, ``_`` for ``-``."""
    name = flag.lstrip("-").partition("=")[0]
    if not flag.startswith("--"):
        name = _SHORT.get(name, name)
    return name.replace("-", "_")


def read_words(file: TextFile, words: Sequence[Word]) -> CommandLine | None:
    """The command line of a server among the words of a command.

    Args:
        file: where they are written.
        words: the words. Arguments alone are those of a program that an image names.

    Returns:
        ``None`` where the words start no inference server that is known.
    """
    found = _program(words)
    if found:
        program, start = found
        return CommandLine(program, tuple(_arguments(file, words[start:])), start)
    if not words or not _FLAG.match(words[0].text):
        return None
    arguments = tuple(_arguments(file, words))
    of_engine = any(governs(argument.name) not in _OF_ANY_SERVER for argument in arguments)
    return CommandLine("", arguments, 0) if of_engine else None


def _program(words: Sequence[Word]) -> tuple[str, int] | None:
    texts = [word.text for word in words]
    for index, text in enumerate(texts):
        following = texts[index + 1] if index + 1 < len(texts) else ""
        if text == "-m" and _MODULE.fullmatch(following):
            return following, index + 2
        if text.rpartition("/")[2] in _SERVE and following == "serve":
            return f"{text.rpartition('/')[2]} serve", index + 2
        if _SCRIPT.fullmatch(text):
            return text.rpartition("/")[2], index + 1
    return None


def _arguments(file: TextFile, words: Sequence[Word]) -> list[Argument]:
    found: list[Argument] = []
    index = 0
    while index < len(words):
        word = words[index]
        if _FLAG.match(word.text):
            argument, used = _option(file, words, index)
            found.append(argument)
            index += used
            continue
        if not found and word.text:
            found.append(Argument("model", "", word.text, word.span, word.span))
        index += 1
    return found


def _option(file: TextFile, words: Sequence[Word], index: int) -> tuple[Argument, int]:
    """The option at an index, and how many words it takes."""
    word = words[index]
    flag, equals, value = word.text.partition("=")
    name = canonical(flag)
    if equals:
        return Argument(name, flag, value, word.span, _behind_equals(file, word, value)), 1
    count = _values(words, index, name)
    if not count:
        if name.startswith("no_") and flag.startswith("--"):
            return Argument(name[3:], flag, value=False, span=word.span, value_span=None), 1
        return Argument(name, flag, value=True, span=word.span, value_span=None), 1
    values = words[index + 1 : index + 1 + count]
    last = values[-1].span.end
    text = " ".join(value.text for value in values)
    span, value_span = Span(word.span.start, last), Span(values[0].span.start, last)
    return Argument(name, flag, text, span, value_span), 1 + count


def _values(words: Sequence[Word], index: int, name: str) -> int:
    """How many of the words behind a flag are its values."""
    following = words[index + 1 :]
    count = next((n for n, word in enumerate(following) if _FLAG.match(word.text)), len(following))
    if not count:
        return 0
    if _SWITCH.fullmatch(name) and name not in _NO_SWITCH:
        return int(bool(_BOOLEAN.fullmatch(following[0].text)))
    return count if name in _SEVERAL else 1


def _behind_equals(file: TextFile, word: Word, value: str) -> Span | None:
    """Where the value of ``--flag=value`` stands; None where it is written in another way."""
    raw = file.data[word.span.start : word.span.end]
    at, end = raw.find(b"=") + 1, len(raw)
    if raw[:1] in (b"'", b'"'):
        end -= 1
    if raw[at:end].strip(b"'\"") != value.strip("'\"").encode():
        return None
    return Span(word.span.start + at, word.span.start + end)
