"""The commands, found in this folder and imported when they are asked for."""

from __future__ import annotations

import os

import click

from logdiff.version import __version__

_EPILOG = """\b
Examples:
  logdiff inspect both.log              what is in it
  logdiff compare "both.log#2" "both.log#1"
  docker logs -t NAME 2>&1 | logdiff diagnose -
"""


class SuggestingGroup(click.Group):
    """A group that says which command may have been meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by its name."""
        if not self.get_command(ctx, args[0]) and not args[0].startswith("-"):
            from difflib import get_close_matches

            if near := get_close_matches(args[0], self.list_commands(ctx), 1):
                ctx.fail(f"No such command '{args[0]}'. Did you mean '{near[0]}'?")
        return super().resolve_command(ctx, args)


class _Commands(SuggestingGroup):
    """A group whose commands are the modules beside this one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in order."""
        del ctx
        return sorted(
            entry[:-3]
            for entry in os.listdir(os.path.dirname(__file__))
            if entry.endswith(".py") and not entry.startswith("_")
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a module, imported now."""
        if cmd_name not in self.list_commands(ctx):
            return None
        from importlib import import_module

        command: click.Command = import_module(f"logdiff.cli.{cmd_name}").command
        return command


@click.group(
    cls=_Commands,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="logdiff %(version)s")
def root() -> None:
    """Compare a bad run of an inference server with a known-good one.

    Says what is different that matters, what caused what, and what to change, with the log lines
    that prove it.
    """
