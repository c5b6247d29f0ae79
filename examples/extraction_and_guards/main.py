"""A Secret that waits for what a ConfigMap yields: the host of a database that somebody has yet to name."""

from __future__ import annotations

from typing import Any

from fiferail import Context, Controller, Manager
from fiferail.components import Component, ConfigMap, Data, Mutation, Secret

API = "extraction.example.io/v1"
DB_HOST: Data[str] = Data("db-host", str)


def database(app: Any) -> Component:
    """The cell is filled from the live ConfigMap; until it is, the Secret is not made."""
    name = app["metadata"]["name"]
    host = app["spec"].get("databaseHost")
    config = {"metadata": {"name": f"{name}-database"}, "data": {"host": host} if host else {}}
    credentials = {"metadata": {"name": f"{name}-credentials"}, "stringData": {"user": "app"}}
    return Component("database", condition="DatabaseReady", resources=[
        ConfigMap(config, extract={DB_HOST: lambda live: live.get("data", {}).get("host")}),
        Secret(credentials, guard=DB_HOST, mutations=[Mutation("host", copy_host, reads=(DB_HOST,))]),
    ])  # fmt: skip


def copy_host(secret: Any) -> None:
    """What was extracted goes in."""
    secret["stringData"]["host"] = DB_HOST.value


async def reconcile(ctx: Context) -> float | None:
    """Stage DatabaseReady, and show the host once it is known."""
    seconds = await database(ctx.object).reconcile(ctx)
    if DB_HOST.is_set:
        ctx.status["databaseHost"] = DB_HOST.value
    return seconds


def controllers() -> list[Controller]:
    """One."""
    claims = ["conditions[DatabaseReady]", "databaseHost"]
    return [Controller(API, "Backend", reconcile, claims=claims).owns("v1", "ConfigMap").owns("v1", "Secret")]


if __name__ == "__main__":
    Manager(*controllers()).run()
