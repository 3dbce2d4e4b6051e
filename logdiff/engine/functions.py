"""The functions that expressions in rule files may call.

A function that is given null or UNKNOWN, or a value of a type that it cannot use, returns UNKNOWN.
``default`` is the exception that gives a fallback instead, and ``typed`` shows null as ``unset``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff import words
from logdiff.engine.values import UNKNOWN, Unknown, display, is_known, truth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_MOST_DIGITS = 12
"""Decimals that a text may ask for."""


def _known(values: Iterable[Any]) -> list[Any]:
    """Return the values as a list; ValueError (which makes a call UNKNOWN) if one is unknown."""
    if isinstance(values, str):
        raise TypeError("a text is no list")
    items = list(values)
    if not all(map(is_known, items)):
        raise ValueError("an item is unknown")
    return items


def _any(values: Iterable[Any]) -> bool | Unknown:
    """Whether one of the values is true."""
    truths = [truth(value) for value in values]
    if any(value is True for value in truths):
        return True
    return UNKNOWN if any(value is UNKNOWN for value in truths) else False


def _all(values: Iterable[Any]) -> bool | Unknown:
    """Whether all values are true."""
    truths = [truth(value) for value in values]
    if any(value is False for value in truths):
        return False
    return UNKNOWN if any(value is UNKNOWN for value in truths) else True


def _min(*values: Any) -> Any:
    """Smallest item of a list, or of several arguments."""
    return min(_known(values[0] if len(values) == 1 else values))


def _max(*values: Any) -> Any:
    """Largest item of a list, or of several arguments."""
    return max(_known(values[0] if len(values) == 1 else values))


def _sum(values: Iterable[Any]) -> Any:
    """Sum of a list of numbers."""
    return sum(_known(values))


def _sorted(values: Iterable[Any]) -> list[Any]:
    """The list in ascending order."""
    return sorted(_known(values))


def _len(values: Any) -> int:
    """Number of items of a list or mapping, or of characters of a text."""
    return len(values)


def _round(value: float, digits: int = 0) -> float:
    """Number rounded to so many digits; a whole number where digits is 0."""
    return round(value, digits) if digits else round(value)


def _abs(value: float) -> float:
    """Number without its sign."""
    return abs(value)


def unique(values: Iterable[Any]) -> list[Any]:
    """Each item once, in the order of first appearance."""
    seen: list[Any] = []
    for value in values:
        if value not in seen:
            seen.append(value)
    return seen


def join(values: Iterable[Any], sep: str = ", ") -> str:
    """Items as one text; numbers as :func:`number` prints them, a null item as ``unknown``."""
    return sep.join(number(value) if _is_number(value) else display(value) for value in values)


def count(amount: Any, noun: str, plural: str | None = None) -> str:
    """``1 message``, ``19 messages``, ``1,234 messages``; the amount is a number or a list."""
    total = amount if _is_number(amount) else len(amount)
    return f"{number(total)} {noun if total == 1 else plural or noun + 's'}"


def number(value: Any) -> str:
    """Number as people read it: ``17.3529``, ``1,234,567``, ``0.9``; another value as text."""
    if not _is_number(value):
        return display(value)
    text = repr(value)
    if "e" in text or "n" in text:  # 1e-09, inf, nan
        return text
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    whole, _, fraction = digits.partition(".")
    return f"{sign}{int(whole):,}" + (f".{fraction}" if fraction.strip("0") else "")


def percent(fraction: float, digits: int = 2) -> str:
    """Fraction in percent without trailing zeros: 0.9997 → ``99.97 %``, 1.0 → ``100 %``.

    What is less than one is never rounded up to 100 %.
    """
    digits = max(0, min(digits, _MOST_DIGITS))
    text = f"{fraction * 100:.{digits}f}"
    if fraction < 1 and float(text) >= 100:
        text = f"{100 - 10**-digits:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + " %"


def gib(mib: float) -> float:
    """MiB in GiB, rounded to two digits."""
    return round(mib / 1024, 2)


def duration(seconds: float) -> str:
    """Whole units that have passed: ``45 s``, ``78 min`` (below two hours) or ``2 h 5 min``."""
    if seconds < 120:
        return f"{int(seconds)} s"
    minutes = int(seconds // 60)
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def flag(argument_name: str) -> str:
    """Name of a launch argument as it is typed: max_model_len → ``--max-model-len``."""
    return "--" + argument_name.replace("_", "-")


def typed(value: Any) -> str:
    """Value of a launch argument as it is typed; null is ``unset``, booleans ``on`` and ``off``."""
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (list, tuple)):
        return " ".join(map(typed, value))
    if isinstance(value, dict):
        import json  # few arguments are mappings: not worth its import at every start

        return json.dumps(value, ensure_ascii=False)
    return str(value)


def shorten(text: str, width: int = 80) -> str:
    """Text cut to so many characters, with an ellipsis where something was cut."""
    return text if len(text) <= width else text[: max(width - 1, 0)].rstrip() + "…"


def starts(text: str, prefix: str) -> bool:
    """Whether a text starts with a prefix."""
    return text.startswith(prefix)


def contains(text: Any, part: Any) -> bool:
    """Whether a text, list or mapping contains a part."""
    return part in text


def basename(path: str) -> str:
    """Last component of a path, with either kind of slash."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _tokens(text: Any) -> frozenset[str]:
    """Lower-case words of a text or of a list of texts; see :func:`logdiff.words.tokens`."""
    if isinstance(text, str):
        return words.tokens(text)
    return frozenset().union(*map(_tokens, _known(text)))


def default(value: Any, fallback: Any) -> Any:
    """Value, or the fallback where the value is null or UNKNOWN."""
    return value if is_known(value) else fallback


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _lifted(function: Callable[..., Any], *, takes_null: bool = False) -> Callable[..., Any]:
    """Make a function return UNKNOWN for what is unknown and for what it cannot use."""

    def call(*arguments: Any, **options: Any) -> Any:
        for value in (*arguments, *options.values()):
            if value is UNKNOWN or (value is None and not takes_null):
                return UNKNOWN
        try:
            return function(*arguments, **options)
        except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError):
            return UNKNOWN

    call.__wrapped__ = function  # type: ignore[attr-defined]  # whence the signature is read
    return call


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": _lifted(_abs),
    "all": _lifted(_all),
    "any": _lifted(_any),
    "basename": _lifted(basename),
    "contains": _lifted(contains),
    "count": _lifted(count),
    "default": default,
    "duration": _lifted(duration),
    "flag": _lifted(flag),
    "gib": _lifted(gib),
    "join": _lifted(join),
    "len": _lifted(_len),
    "max": _lifted(_max),
    "min": _lifted(_min),
    "number": _lifted(number),
    "percent": _lifted(percent),
    "round": _lifted(_round),
    "shorten": _lifted(shorten),
    "sorted": _lifted(_sorted),
    "starts": _lifted(starts),
    "sum": _lifted(_sum),
    "tokens": _lifted(_tokens),
    "typed": _lifted(typed, takes_null=True),
    "unique": _lifted(unique),
}
"""Functions by the name that expressions call."""
