"""The command line: parsing, rendering, exit codes. 0 is clean, 1 means findings, 2 means that it could not run.

Commands live in modules of their own and import what they need when they run, so that `fairlead serve` starts without paying for
the auditor. `audit` and `rules` are registered by `fairlead.cli.audit` when its extra is installed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

_QUICK = ("serve", "demo")


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point of the `fairlead` command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        import typer  # noqa: F401
    except ModuleNotFoundError:
        print("fairlead: the command line needs an extra: pip install 'fairlead[server]' or 'fairlead[audit]'", file=sys.stderr)
        sys.exit(2)
    application(with_audit=not given or given[0] not in _QUICK)(given, prog_name="fairlead")


def application(*, with_audit: bool = True) -> typer.Typer:
    """The commands that this installation has."""
    import typer

    from . import demo, serve

    app = typer.Typer(
        name="fairlead",
        help="No writer ever loses another writer's update: an API server for tests, a writer for status, an auditor for source.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )

    @app.callback(invoke_without_command=True)
    def top(version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True)) -> None:
        if version:
            from .._version import __version__

            print(f"fairlead {__version__}")
            raise typer.Exit

    serve.register(app)
    demo.register(app)
    if with_audit:
        _register_audit(app)
    return app


def _register_audit(app: typer.Typer) -> None:
    """Adds `audit` and `rules`; without their extra they say what is missing."""
    try:
        from . import audit  # type: ignore[attr-defined,unused-ignore]
    except ImportError as missing:
        reason = f"fairlead: this command needs an extra that is not installed ({missing.name}): pip install 'fairlead[audit]'"

        @app.command("audit", help="Find unsafe status writes in Go and Python source (needs fairlead[audit]).", hidden=True)
        @app.command("rules", help="List the auditor's rules (needs fairlead[audit]).", hidden=True)
        def unavailable() -> None:
            import typer

            print(reason, file=sys.stderr)
            raise typer.Exit(2)
    else:
        audit.register(app)
