"""One audit from paths to report. Called by `fiferail.audit.audit`, the command line, the fixes and the benchmarks.

It owns the order of things and nothing else: sources, front ends, RBAC, suppressions, rules.
"""

from __future__ import annotations

import gc

from fiferail.audit import rbac, suppressions
from fiferail.audit.cache import Cache
from fiferail.audit.config import Config
from fiferail.audit.judge import judge
from fiferail.audit.model import Facts, Report, Skipped
from fiferail.audit.sources import Sources, collect


def run(paths: list[str], config: Config | None = None) -> Report:
    config = config or Config()
    # Millions of small lists are made and none is garbage before the end: the collector would only walk them again and again.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _run(paths, config)
    finally:
        if collecting:
            gc.enable()


def _run(paths: list[str], config: Config) -> Report:
    sources = collect(paths, exclude=config.exclude, roles=list(config.roles))
    facts = Facts()
    if sources.go:
        _go(sources, config, facts)
    if sources.python:
        _python(sources, config, facts)
    grants, skipped = rbac.roles(sources)
    facts.grants.extend(grants)
    facts.skipped.extend([*sources.skipped, *skipped])
    unread = {skipped.file for skipped in facts.skipped}
    facts.files = sum(path not in unread for path in (*sources.go, *sources.python))
    facts.lines = sum(data.count(b"\n") for data in sources.go.values()) + sum(data.count(b"\n") for data in sources.python.values())
    facts.sites.sort(key=lambda site: (site.file, site.line, site.column))
    return judge(facts, config, sources.root)


def _go(sources: Sources, config: Config, facts: Facts) -> None:
    from fiferail.audit.golang.frontend import GoFrontend
    from fiferail.audit.golang.load import load

    cache = Cache(sources.root, config.cache)
    project, audited, skipped = load(sources, cache, tests=config.tests, generated=config.generated, processes=config.processes)
    found = GoFrontend(project, audited).run()
    cache.save()
    if cache.damaged:
        state = "is damaged" if cache.damaged < 0 else f"has {cache.damaged} damaged entries"
        facts.skipped.append(Skipped(cache.path, f"the cache {state}: parsed again"))
    facts.sites.extend(found.sites)
    facts.functions.extend(found.functions)
    facts.controllers.update(found.controllers)
    facts.skipped.extend([*skipped, *found.skipped])
    if not sources.modules:
        facts.skipped.append(Skipped("go.mod", "not found: packages are told apart by their directories"))
    for path in sorted(audited):
        data = project.files[path].source
        facts.grants.extend(rbac.markers(path, data))
        facts.suppressions.extend(suppressions.read(path, data))


def _python(sources: Sources, config: Config, facts: Facts) -> None:
    from fiferail.audit.python.frontend import audit_python

    chosen = {path: data for path, data in sources.python.items() if config.tests or path not in sources.tests}
    found = audit_python(chosen, generated=config.generated)
    facts.sites.extend(found.sites)
    facts.functions.extend(found.functions)
    facts.controllers.update(found.controllers)
    facts.skipped.extend(found.skipped)
    for path in sorted(chosen):
        facts.suppressions.extend(suppressions.read(path, chosen[path]))


def nothing_read(report: Report) -> bool:
    """Whether there was nothing to audit at all: the one case in which the command cannot say anything."""
    return report.facts.files == 0
