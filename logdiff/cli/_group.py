"""The commands, found in this folder and imported when they are asked for."""

from __future__ import annotations

import os
from typing import Any

import click

from logdiff.modules import load
from logdiff.version import __version__

_EPILOG = """\b
Examples:
  logdiff inspect both.log              what is in it
  logdiff compare "both.log#2" "both.log#1"
  docker logs -t NAME 2>&1 | logdiff diagnose -
"""


def _show_help(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def _show_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"logdiff {__version__}", color=ctx.color)
        ctx.exit()


class Option(click.Option):
    """An option whose help is one line: click would load a module to take indents off it."""

    def __init__(self, *names: Any, help: str, **attributes: Any) -> None:  # noqa: A002  # click's
        super().__init__(*names, **attributes)
        self.help = help


class Command(click.Command):
    """A command that loads nothing for messages which nobody asked for."""

    own_help: click.Option | None = None

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """The option of click, but for a text that is not looked up in any translation."""
        if self.own_help is None:
            self.own_help = Option(
                ctx.help_option_names,
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_help,
                help="Show this message and exit.",
            )
        return self.own_help

    def make_parser(self, ctx: click.Context) -> Any:
        """The parser of click, which takes ``-f`` for a long option first.

        Where it is none, similar ones are looked for in vain.
        """
        parser = super().make_parser(ctx)
        for option, meaning in parser._short_opt.items():  # noqa: SLF001  # there is no other way
            parser._long_opt.setdefault(option, meaning)  # noqa: SLF001
        return parser


class SuggestingGroup(Command, click.Group):
    """A group that says which command may have been meant."""

    command_class = Command

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
        command: click.Command = load(f"logdiff.cli.{cmd_name}").command
        return command


@click.group(
    cls=_Commands,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "-V",
    "--version",
    cls=Option,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def root() -> None:
    """Compare a bad run of an inference server with a known-good one.

    Says what is different that matters, what caused what, and what to change, with the log lines
    that prove it.
    """
