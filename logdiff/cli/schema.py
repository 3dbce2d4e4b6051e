"""``logdiff schema``: the JSON Schemas of what logdiff writes and reads."""

from __future__ import annotations

import click

from logdiff.cli._group import Command

_EPILOG = """\b
Examples:
  logdiff schema report > report.schema.json
  logdiff schema rule                       for an editor that checks YAML
"""


@click.command(cls=Command, epilog=_EPILOG)
@click.argument("name", type=click.Choice(["report", "rule", "signal"]))
def command(name: str) -> None:
    """Print a JSON Schema: of the report, of a rule file, or of a signal file."""
    import json

    from logdiff.engine import schema
    from logdiff.render import dto

    schemas = {
        "report": dto.json_schema,
        "rule": schema.RuleFile.model_json_schema,
        "signal": schema.SignalFile.model_json_schema,
    }
    click.echo(json.dumps(schemas[name](), indent=2, ensure_ascii=False, sort_keys=True))
