"""``kvplan estimate``."""

import json
import sys
from pathlib import Path

import click

from kvplan.core.errors import KvplanError
from kvplan.estimator import Options, estimate
from kvplan.render import json_


@click.command(name="estimate")
@click.argument("model", required=False)
@click.option("--ctx")
@click.option("--batch")
@click.option("--prompt")
@click.option("--engine")
@click.option("--dtype")
@click.option("--kv-dtype")
@click.option("--gpu")
@click.option("--budget")
@click.option("--requests", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True)
def command(requests: Path | None, *, as_json: bool, **said: str | None) -> int:
    """What it takes and where each byte goes."""
    if requests:
        for line in sys.stdin if str(requests) == "-" else requests.open():
            asked = json.loads(line)
            try:
                known = {key: str(value) for key, value in asked.items() if key in Options._fields}
                answer = json_.estimate(estimate(Options(**known)))
            except KvplanError as error:
                answer = {"error": {"kind": error.kind, "message": error.message, "hint": error.hint}}
            click.echo(json_.dumps({"id": asked.get("id"), **answer}))
        return 0
    answer = estimate(Options(**said))  # type: ignore[arg-type]
    if as_json:
        click.echo(json_.dumps(json_.estimate(answer)))
    else:
        for entry in answer.entries:
            click.echo(f"{entry.name:16} {entry.size.best / 2**30:8.2f} GiB  {entry.basis}")
    return 0
