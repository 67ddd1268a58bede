"""The command ``dualstruct``, one file for each group of commands."""

from dualstruct.cli.app import app, main

__all__ = ["app", "main"]
