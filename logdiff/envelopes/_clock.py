"""Times of transports in one form: RFC 3339 in UTC with nine decimals, as docker prints them."""

from __future__ import annotations

from functools import lru_cache

from logdiff.patterns import compiled

_RFC3339 = compiled(
    rb"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?:([Zz])|([+-])(\d\d):?(\d\d))$"
)
_DECIMALS = 9


def in_utc(stamp: bytes) -> bytes | None:
    """A time of any offset and precision in the one form; ``None`` if it is none."""
    match = _RFC3339.match(stamp)
    if not match:
        return None
    day, clock, fraction, zulu, sign, hours, minutes = match.groups()
    fraction = (fraction or b"").ljust(_DECIMALS, b"0")
    if not zulu:
        moved = _moved(
            day + b"T" + clock, (60 * int(hours) + int(minutes)) * (-1) ** (sign == b"+")
        )
        if moved is None:
            return None
        return b"%b.%bZ" % (moved, fraction)
    return b"%bT%b.%bZ" % (day, clock, fraction)


def of_microseconds(count: int) -> bytes | None:
    """Microseconds since 1970 in the one form; ``None`` where no calendar holds them."""
    from datetime import UTC, datetime, timedelta

    try:
        time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=count)
    except OverflowError:
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%S.%f").encode() + b"000Z"


def microseconds(time: bytes) -> int:
    """Microseconds since 1970 of a time in the one form."""
    from datetime import UTC, datetime

    seconds = datetime.fromisoformat(time[:19].decode()).replace(tzinfo=UTC).timestamp()
    return int(seconds) * 1_000_000 + int(time[20:26])


@lru_cache(maxsize=1024)
def _moved(second: bytes, minutes: int) -> bytes | None:
    """A second moved by some minutes; many lines share one."""
    if not minutes:
        return second
    from datetime import datetime, timedelta

    try:
        time = datetime.fromisoformat(second.decode()) + timedelta(minutes=minutes)
    except (ValueError, OverflowError):
        return None
    return time.isoformat().encode()
