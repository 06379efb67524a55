"""`fairlead crds`: the CustomResourceDefinitions of every kind Fairlead owns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fairlead.cli.output import Format, show_data


def crds(
    output: Annotated[
        Format, typer.Option("--output", "-o", help="yaml and json can be applied.")
    ] = Format.YAML,
    output_dir: Annotated[
        Path | None, typer.Option(help="Write one file per kind into this folder instead.")
    ] = None,
) -> None:
    """Print the CRDs that Fairlead's own kinds need.

    Example: fairlead crds | kubectl apply --server-side -f -
    """
    from fairlead.api.crd import crd
    from fairlead.api.kinds import crd_files, kinds

    if output_dir is not None:
        output_dir.mkdir(parents=True, exist_ok=True)
        for name, text in crd_files().items():
            (output_dir / name).write_text(text, encoding="utf-8")
    elif output is Format.YAML:
        sys.stdout.write("---\n".join(crd_files().values()))
    elif output is Format.JSON:
        show_data({"apiVersion": "v1", "kind": "List", "items": [crd(k) for k in kinds()]}, output)
    else:
        for kind in kinds():
            typer.echo(f"{kind.crd_name}  {kind.kind}  {kind.api_version}")
