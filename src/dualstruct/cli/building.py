"""From functions to commands: what typer is asked for, once for all of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from dualstruct.cli.boundary import CarriedError, run
from dualstruct.cli.commands import ABOUT, COMMANDS, examples, overview
from dualstruct.cli.output import say
from dualstruct.printable import printable

#: Options that may come without their number, and what it is then.
OPTIONAL_NUMBERS = {"--errors": "5"}
#: What typer calls the values of options, and what they are called here; everything else is a text.
TYPES = {
    "int": "N",
    "int range": "N",
    "float": "NUMBER",
    "float range": "NUMBER",
    "path": "FILE",
    "list[path]": "FILE",
}


class Commands(TyperGroup):
    """The group of all commands."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _past_typer():
            return super().make_context(*arguments, **options)

    def invoke(self, context: Any) -> Any:
        with _past_typer():
            return super().invoke(context)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(overview() + "\n")


class Command(TyperCommand):
    """One command."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for each in self.params:
            if each.param_type_name == "argument" and each.metavar is None:
                each.metavar = (each.name or "").upper()
            _hide_type(each)

    def get_help_option(self, ctx: Any) -> Any:
        return _hide_type(super().get_help_option(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        following = [*args[1:], ""]
        for place in reversed(range(len(args))):
            if args[place] in OPTIONAL_NUMBERS and not _is_number(following[place]):
                args.insert(place + 1, OPTIONAL_NUMBERS[args[place]])
        return super().parse_args(ctx, args)

    def panels(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """Arguments and options with their help, by the title that they stand under."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            usual = "Arguments" if each.param_type_name == "argument" else "Options"
            if record is not None:
                title = getattr(each, "rich_help_panel", None) or usual
                panels.setdefault(title, []).append(_readable(*record))
        return panels

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for title, records in self.panels(ctx).items():
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        formatter.write(f"\n{examples(self.name or '')}\n")


def _is_number(text: str) -> bool:
    with suppress(ValueError):
        float(text)
        return True
    return False


def _hide_type(option: Any) -> Any:
    """A flag takes nothing, so its help shows no type."""
    if isinstance(option, TyperOption) and option.is_flag and option.metavar is None:
        option.metavar = ""
    return option


def _readable(name: str, help: str) -> tuple[str, str]:
    """What an option takes as one word, and its range in words.

    >>> _readable("--seconds <float range>", "At most.  [default: 1; x>=0]")
    ('--seconds NUMBER', 'At most.  [default: 1; at least 0]')
    >>> _readable("--bits <int range>", "Of a weight.  [3<=x<=8]")
    ('--bits N', 'Of a weight.  [3 to 8]')
    >>> _readable("MODEL <path>", "A file."), _readable("--task <list[str]>", "Only this.")
    (('MODEL', 'A file.'), ('--task TEXT', 'Only this.'))
    """
    name, _, kind = name.removesuffix(">").partition(" <")
    if kind and name.startswith("-"):
        name += f" {TYPES.get(kind, 'TEXT')}"
    help = re.sub(r"([\d.]+)<=x<=([\d.]+)", r"\1 to \2", help)
    return name, re.sub(r"x>=([\d.]+)", r"at least \1", help)


@contextmanager
def _past_typer() -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, KeyboardInterrupt) as problem:
        raise CarriedError(problem) from None
    except Exception as problem:
        if isinstance(getattr(problem, "message", None), str):  # of usage: typer shows it
            problem.message = printable(problem.message, keep="\n")  # type: ignore[attr-defined]
        raise


def _show_version(wanted: bool) -> None:
    if wanted:
        from dualstruct import __version__

        say(f"dualstruct {__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Linear structured prediction by dual methods."""


def app_of(names: Iterable[str]) -> typer.Typer:
    """The command line with some of its commands."""
    app = typer.Typer(
        cls=Commands,
        help=ABOUT,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # boxes take longer to draw than most commands to run
    )
    app.callback()(options)
    for name in names:
        module, _, function = COMMANDS[name].place.partition(":")
        command = getattr(import_module(f"dualstruct.cli.{module}"), function)
        app.command(name, cls=Command)(command)
    return app


def run_alone(wanted: list[str]) -> NoReturn:
    """Run the command line with the command that is wanted, or with all, and leave the program."""
    from dualstruct.data.leftovers import tidy_on_sigterm

    tidy_on_sigterm()
    known = bool(wanted) and wanted[0] in COMMANDS and "_DUALSTRUCT_COMPLETE" not in os.environ
    run(app_of(wanted if known else COMMANDS))
