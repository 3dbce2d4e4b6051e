"""Launch arguments and engine configuration, as servers print them, parsed and never evaluated.

Three forms are read, each as vLLM's releases print them:

* ``args: Namespace(host=None, port=8000, …)``: the API server up to 0.8;
* ``non-default args: {'model_tag': '/model', …}``: the API server from 0.9 on;
* ``Initializing an LLM engine (v0.6.3) with config: model='/model', dtype=torch.float16, …``: the
  engine, whose values are a mixture of literals, bare words and calls, sometimes without the
  comma between two pairs.

Nothing here raises, whatever the text is: a log may be cut off anywhere or hold anything. What is
complete is returned and the pair that was cut is left out. Time is linear in the text.
"""

from __future__ import annotations

import re

from logdiff.patterns import compiled

PAIR_LIMIT = 2_000
"""Pairs that are read of one line; what follows is left out."""
DEPTH_LIMIT = 100
"""Brackets in brackets; a line with more is taken as cut off where they are exceeded."""
LITERAL_LIMIT = 20_000
"""Characters of a value that is read as a Python literal; a longer one is kept as text."""

_INTEGER_BITS = 64
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}

# Whatever separates nothing is passed over first, in one go.
_TOKENS = r"""
  (?: [^"'(\[{<>)\]},\s]++ | (?<![=:,(\[{<\s])< | (?<=[-=])> | PASSED_BLANK )*+
  (?:
    (?P<quoted>"(?:[^"\\]|\\.)*+" | '(?:[^'\\]|\\.)*+')
  | (?P<cut>["'])
  | (?P<open>[(\[{] | (?<=[=:,(\[{<\s])<)
  | (?P<close>[)\]}] | (?<![-=])>)
  | (?P<separator>,\s*+
"""
_BOUNDARY = compiled(_TOKENS.replace("PASSED_BLANK", r"\s") + r") | \Z )", re.VERBOSE | re.DOTALL)
# A comma between two pairs may be missing, so a blank in front of "name=" separates too.
_NEXT_NAME = r"[A-Za-z_]\w*+="
_CONFIG_BOUNDARY = compiled(
    _TOKENS.replace("PASSED_BLANK", rf"\s(?!{_NEXT_NAME})") + rf"| \s(?={_NEXT_NAME})) | \Z )",
    re.VERBOSE | re.DOTALL,
)
_NAMESPACE = compiled(r"\bNamespace\(")
_CALL = compiled(r"(?<![\w.])[A-Za-z_][\w.]*+\(")
_NAMED = compiled(r"\s*+(?P<name>[A-Za-z_]\w*+)\s*+=(?P<value>.*)", re.DOTALL)
_KEYED = compiled(
    r"\s*+(?P<key>\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|[^\s:'\"]++)\s*+:(?P<value>.*)",
    re.DOTALL,
)

_CONSTANTS = {"None": None, "True": True, "False": False}
_INTEGER = compiled(r"-?(?:0|[1-9]\d{0,17})")
_FLOAT = compiled(r"-?(?:0|[1-9]\d{0,17})\.\d{1,18}(?:e[+-]?\d{1,2})?")
_SIMPLE_STRING = compiled(r"'([^'\\\n]*+)'|\"([^\"\\\n]*+)\"")
_SIMPLE_STRINGS = compiled(r"\['[^'\\\n]*+'(?:, '[^'\\\n]*+')*+\]")
_STRING_ITEM = compiled(r"'([^']*+)'")
_LITERAL_START = compiled(r"[\"'\[({+\-.\d]|[bBrRuU]{1,2}[\"']")


def parse_namespace(text: str) -> dict[str, object]:
    """Parse the first ``Namespace(a=1, b='x', …)`` in ``text``, else its first call of any name.

    Returns:
        Values by name: ``None``, booleans, numbers, strings, lists, tuples and dictionaries as
        Python's own; any other value (``LoadFormat.AUTO``, ``<function f at 0x7f>``) as the text
        that it is printed as. Empty where there is no call.
    """
    call = _NAMESPACE.search(text) or _CALL.search(text)
    if call is None:
        return {}
    items, _ = _split(text, call.end(), _BOUNDARY)
    return _named(items)


def parse_dict(text: str) -> dict[str, object]:
    """Parse the first ``{'model_tag': '/model', 'enforce_eager': True, …}`` in ``text``.

    Returns:
        Values by key, as :func:`parse_namespace` returns them. A key that is no string is
        returned as the text that it is printed as.
    """
    start = text.find("{")
    if start < 0:
        return {}
    items, _ = _split(text, start + 1, _BOUNDARY)
    pairs: dict[str, object] = {}
    for keyed in filter(None, map(_KEYED.fullmatch, items)):
        if value := keyed["value"].strip():
            key = _value(keyed["key"])
            pairs[key if isinstance(key, str) else keyed["key"]] = _value(value)
    return pairs


def parse_config(text: str, *, cut: bool = False) -> dict[str, object]:
    """Parse ``model='/model', dtype=torch.float16, seed=0``, the engine's line after ``config:``.

    Unlike the other two forms this one has no closing bracket of its own, although some releases
    print one, so a line that was cut off cannot always be told from a whole one.

    Args:
        text: The pairs; a closing bracket that was not opened in it ends them.
        cut: The line is known to be cut off, so its last pair may lack a part. Without it the
            last pair is taken as whole unless a quote or a bracket in it is left open.

    Returns:
        Values by name, as :func:`parse_namespace` returns them.
    """
    items, rest = _split(text, 0, _CONFIG_BOUNDARY)
    if not cut:
        items.append(rest)
    return _named(items)


def _named(items: list[str]) -> dict[str, object]:
    """Turn ``name=value`` items into a dictionary; what is no pair is left out."""
    pairs: dict[str, object] = {}
    for named in filter(None, map(_NAMED.fullmatch, items)):
        if value := named["value"].strip():
            pairs[named["name"]] = _value(value)
    return pairs


def _split(text: str, start: int, boundary: re.Pattern[str]) -> tuple[list[str], str]:
    """Split at the separators that stand in no bracket and no quote.

    Args:
        text: What to split.
        start: Where to begin, behind the opening bracket where there is one.
        boundary: What separates, and what has to be known to tell where.

    Returns:
        The items that a separator or a closing bracket ends, and what is left behind the last
        one: empty if a bracket ended it, or if a quote or a bracket in it is open or wrong.
    """
    items: list[str] = []
    expected: list[str] = []
    begin = start
    for token in boundary.finditer(text, start):
        kind = token.lastgroup
        if kind is None:
            break  # the end of the text
        if kind == "separator":
            if not expected:
                items.append(text[begin : token.start(kind)])
                begin = token.end()
                if len(items) == PAIR_LIMIT:
                    return items, ""
        elif kind == "open":
            expected.append(_CLOSING[token[kind]])
            if len(expected) > DEPTH_LIMIT:
                return items, ""
        elif kind == "close" and not expected:
            return [*items, text[begin : token.start(kind)]], ""
        elif kind == "cut" or (kind == "close" and not _closes(token[kind], expected)):
            return items, ""
    return items, "" if expected else text[begin:]


def _closes(bracket: str, expected: list[str]) -> bool:
    """Take the innermost bracket off the stack if ``bracket`` closes it; tell whether it may stand.

    An angle bracket that closes nothing may: it is an arrow or a comparison.
    """
    if bracket == expected[-1]:
        expected.pop()
        return True
    return bracket == ">"


def _value(text: str) -> object:
    """Return the Python value that ``text`` is the literal of, else ``text``.

    The common forms are read without :mod:`ast`, which takes longer to import than all arguments
    of a server take to parse.
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if string := _SIMPLE_STRING.fullmatch(text):
        return string[1] if string[2] is None else string[2]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if text == "[]":
        return []
    if text == "{}":
        return {}
    if _SIMPLE_STRINGS.fullmatch(text):
        return _STRING_ITEM.findall(text)
    if len(text) <= LITERAL_LIMIT and _LITERAL_START.match(text):
        return _literal(text)
    return text


def _literal(text: str) -> object:
    """Let Python read a literal; keep as text what is none or what a report could not hold."""
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            # An unknown escape in a printed string is no concern of whoever reads the log.
            warnings.simplefilter("ignore")
            value: object = ast.literal_eval(text)
        return value if _is_reportable(value) else text
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text


def _is_reportable(value: object) -> bool:
    """Whether JSON can hold a value and arithmetic stands it: no set, bytes, NaN or huge number.

    Raises:
        UnicodeEncodeError: If a string holds half a character.
    """
    match value:
        case None | bool():
            return True
        case int():
            return value.bit_length() <= _INTEGER_BITS
        case float():
            return value - value == 0  # neither infinite nor NaN
        case str():
            value.encode()
            return True
        case list() | tuple():
            return all(_is_reportable(item) for item in value)
        case dict():
            return all(isinstance(key, str) for key in value) and all(
                _is_reportable(item) for pair in value.items() for item in pair
            )
    return False
