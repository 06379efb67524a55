"""Options that every command shares, and the settings they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fairlead.settings import Settings


@dataclass(frozen=True, slots=True)
class Invocation:
    """What was said before the command's name."""

    config: Path | None = None


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        help="Configuration file or folder [default: $FAIRLEAD_CONFIG, ./fairlead.yaml, "
        "~/.config/fairlead, then the contexts of your kubeconfig].",
        show_default=False,
    ),
]


def chosen_config(context: typer.Context, config: Path | None) -> Path | None:
    """The option of the command, else the one given before its name."""
    before = context.find_object(Invocation)
    return config or (before.config if before else None)


def settings_for(context: typer.Context, config: Path | None) -> Settings:
    from fairlead.settings import load_settings

    return load_settings(chosen_config(context, config))


def registry_path_for(context: typer.Context, config: Path | None) -> Path:
    """The registry file or folder that a command may change."""
    from fairlead.settings import editable_registry

    return editable_registry(chosen_config(context, config))
