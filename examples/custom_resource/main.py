"""A kind that fiferail knows nothing about: a certificate, static, edited by mutations, and read for when it ends."""

from __future__ import annotations

from typing import Any

from fiferail import Context, Controller, Manager
from fiferail.components import Component, Data, Mutation, Static

API = "sites.example.io/v1"
CERTIFICATE = {"apiVersion": "certs.example.io/v1", "kind": "Certificate"}
NOT_AFTER: Data[str] = Data("not-after", str)


def certificate(site: Any) -> Component:
    """Metadata and content are edited like those of any other kind."""
    name, spec = site["metadata"]["name"], site["spec"]
    desired = {**CERTIFICATE, "metadata": {"name": name}, "spec": {"secretName": f"{name}-tls", "dnsNames": [spec["domain"]]}}
    mutations = [
        Mutation("team", lambda cert: cert["metadata"].setdefault("labels", {}).update(team=spec["team"]), when="team" in spec),
        Mutation("www", lambda cert: cert["spec"]["dnsNames"].append(f"www.{spec['domain']}"), when=spec.get("www", False)),
    ]
    take = {NOT_AFTER: lambda live: live.get("status", {}).get("notAfter")}
    return Component("certificate", condition="CertificateReady", resources=[Static(desired, mutations=mutations, extract=take)])


async def reconcile(ctx: Context) -> float | None:
    """Stage CertificateReady, and when the certificate ends as soon as its issuer has said so."""
    seconds = await certificate(ctx.object).reconcile(ctx)
    if NOT_AFTER.is_set:
        ctx.status["certificateEnds"] = NOT_AFTER.value
    return seconds


def controllers() -> list[Controller]:
    """One, which looks again when the issuer writes the certificate's status."""
    claims = ["conditions[CertificateReady]", "certificateEnds"]
    return [Controller(API, "Site", reconcile, claims=claims).owns(CERTIFICATE["apiVersion"], CERTIFICATE["kind"])]


if __name__ == "__main__":
    Manager(*controllers()).run()
