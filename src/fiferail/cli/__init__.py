"""The command line: parsing, rendering, exit codes. 0 is clean, 1 means findings, 2 means that it could not run: a crash is never 1.

`serve`, `demo` and `check` parse with argparse and import what they need when they run: a test server must not wait for a command line
library. The other commands live in a typer application, which lists these as well; `audit` and `rules` come from
`fiferail.cli.audit` when its extra is installed.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

_QUICK = ("serve", "demo", "check")


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point of the `fiferail` command. Ends the process; a defect of fiferail is one line and exit code 2.

    FIFERAIL_TRACEBACK=1 prints the traceback as well.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A name or a character that the terminal's encoding lacks must not end the command.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except SystemExit as ended:
        code = _code(ended)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        # Whoever read the output has left. What is still buffered must not raise again at exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 2
    except Exception as problem:
        code = _crashed(problem)
    sys.exit(code)


def _run(given: list[str]) -> int:
    if given and given[0] in _QUICK:
        return _quick(given[0], given[1:])
    if given == ["--version"]:
        from .._version import __version__

        print(f"fiferail {__version__}")
        return 0
    try:
        import typer  # noqa: F401
    except ModuleNotFoundError as missing:
        from ..errors import missing_extra

        print("fiferail: the command line " + missing_extra("cli", missing.name), file=sys.stderr)
        return 2
    return _typed(given)


def _typed(given: list[str]) -> int:
    """A command of the typer application. Its own handling of errors would end some of them with 1."""
    try:
        answer = application()(given, prog_name="fiferail", standalone_mode=False)
    except Exception as problem:
        show = getattr(problem, "show", None)
        if show is None or not hasattr(problem, "exit_code"):
            raise
        show()
        return 2
    return answer if isinstance(answer, int) else 0


def _code(ended: SystemExit) -> int:
    """The exit code of a command that ended itself; text instead of a number says why it could not run.

    typer ends with 1 where the reader of the output has left.
    """
    if isinstance(ended.__context__, BrokenPipeError):
        return 2
    if ended.code is None or isinstance(ended.code, int):
        return ended.code or 0
    print(f"fiferail: {ended.code}", file=sys.stderr)
    return 2


def _crashed(problem: Exception) -> int:
    if os.environ.get("FIFERAIL_TRACEBACK"):
        import traceback

        traceback.print_exception(problem)
    if isinstance(problem, OSError) and problem.strerror:
        where = f"{problem.filename}: " if problem.filename else ""
        said = f"{where}{problem.strerror}"
    else:
        words = str(problem).splitlines()
        said = f"{type(problem).__name__}{f': {words[0]}' if words else ''} (a defect of fiferail; FIFERAIL_TRACEBACK=1 shows where)"
    print(f"fiferail: could not run: {ascii(said)[1:-1]}", file=sys.stderr)
    return 2


def _quick(command: str, arguments: list[str]) -> int:
    if command == "serve":
        from .serve import run as serve

        return serve(arguments)
    if command == "check":
        from .check import run as check

        return check(arguments)
    from .demo import run as demo

    return demo(arguments)


def application() -> typer.Typer:
    """The commands that this installation has, for help and for everything that is not in a hurry."""
    import typer

    app = typer.Typer(
        name="fiferail",
        help="No writer ever loses another writer's update: an API server for tests, a writer for status, an auditor for source.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )

    @app.callback()
    def top(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
        """Only there to be listed: `main` has answered it."""

    @app.command("serve", help="Serve the Kubernetes API from memory, until Ctrl-C.", add_help_option=False)
    def serve() -> None:
        raise typer.Exit(_quick("serve", []))

    @app.command("demo", help="Show one lost update, end to end.", add_help_option=False)
    def demo() -> None:
        raise typer.Exit(_quick("demo", []))

    @app.command("check", help="Find lost updates in the audit log of a kube-apiserver.", add_help_option=False)
    def check() -> None:
        raise typer.Exit(_quick("check", []))

    _register_audit(app)
    return app


def _register_audit(app: typer.Typer) -> None:
    """Adds `audit` and `rules`; without their extra they say what is missing."""
    try:
        from . import audit  # type: ignore[attr-defined,unused-ignore]
    except ImportError as missing:
        from ..errors import missing_extra

        reason = "fiferail: this command " + missing_extra("audit", missing.name)

        @app.command("audit", help="Find unsafe status writes in Go and Python source (needs the extra `audit`).", hidden=True)
        @app.command("rules", help="List the auditor's rules (needs the extra `audit`).", hidden=True)
        def unavailable() -> None:
            import typer

            print(reason, file=sys.stderr)
            raise typer.Exit(2)
    else:
        audit.register(app)
