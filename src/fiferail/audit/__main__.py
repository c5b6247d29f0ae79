"""`python -m fiferail.audit PATH...`: the same command as `fiferail audit`, for whoever has the module and not the script.

The command line lives in another room, so it is found by name at run time and not imported.
"""

from importlib import import_module

import typer

app = typer.Typer(add_completion=False)
app.command("audit")(import_module("fiferail.cli.audit").audit)

if __name__ == "__main__":
    app()
