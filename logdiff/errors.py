"""The errors a user can cause, each with the one message that says what, where and what to do."""

from __future__ import annotations


class LogdiffError(Exception):
    """Base of all errors that end a command with a message instead of a result."""

    exit_status = 70

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        """What the user can do about it, as a sentence."""


class UsageError(LogdiffError):
    """The command line, a configuration or a rule file cannot be used (status 2)."""

    exit_status = 2


class RuleError(UsageError):
    """A rule or signal file is wrong; the message starts with ``file:line:column``."""


class InputError(LogdiffError):
    """A log cannot be read or holds nothing to judge (status 3)."""

    exit_status = 3
