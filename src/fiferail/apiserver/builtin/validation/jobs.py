"""Checks of Job and CronJob."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....objects.fielderrors import FieldError, invalid, not_supported, required
from ....objects.tree import same
from ... import names
from . import cron, pods
from .shapes import immutable, label_selector, matches, not_negative, selector_text
from .workloads import template_labels

if TYPE_CHECKING:
    from ....objects.tree import Json

_MISMATCH = "`selector` does not match template `labels`"
_ZONE_PART = re.compile(r"[A-Za-z\.\-_0-9+]+")
_SUFFIXES = "batch.kubernetes.io/"


def job(obj: Json) -> list[FieldError]:
    spec, metadata = obj["spec"], obj["metadata"]
    found = _generated_selector(obj) + _spec_with_selector(spec)
    if spec.get("completionMode") == "Indexed" and (spec.get("completions") or 0) > 0:
        longest = f"{metadata.get('name', '')}-{spec['completions'] - 1}"
        if names.dns_label(longest):
            detail = f"will not able to create pod with invalid DNS label: {longest}"
            found.append(invalid("metadata.name", metadata.get("name", ""), detail))
    return found


def _generated_selector(obj: Json) -> list[FieldError]:
    spec, metadata = obj["spec"], obj["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    expected = {"controller-uid": uid, "job-name": name, f"{_SUFFIXES}controller-uid": uid, f"{_SUFFIXES}job-name": name}
    given = template_labels(spec["template"]) or {}
    found = []
    for label, value in expected.items():
        where, detail = f"spec.template.metadata.labels[{label}]", f"must be '{value}'"
        if label not in given:
            found.append(required(where, detail))
        elif given[label] != value:
            found.append(invalid(where, given, detail))
    selector = spec["selector"]
    if not label_selector(selector, "") and not matches(selector, expected):
        found.append(invalid("spec.selector", selector_text(selector), "`selector` not auto-generated"))
    return found


def _spec_with_selector(spec: Json) -> list[FieldError]:
    found = _spec(spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        found.append(required("spec.selector"))
        wrong = []
    else:
        wrong = label_selector(selector, "spec.selector")
        found += wrong
    given = template_labels(spec["template"])
    if not wrong and (selector is None or not matches(selector, given)):
        found.append(invalid("spec.template.metadata.labels", given, _MISMATCH))
    return found


def _spec(spec: Json, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished", "backoffLimitPerIndex"):
        found += not_negative(spec.get(name), f"{at}.{name}")
    failed, per_index = spec.get("maxFailedIndexes"), spec.get("backoffLimitPerIndex")
    if failed is not None:
        found += not_negative(failed, f"{at}.maxFailedIndexes")
        if per_index is None:
            found.append(required(f"{at}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    found += _managed_by(spec.get("managedBy"), f"{at}.managedBy") + _mode(spec, at)
    if spec.get("completionMode") in (None, "NonIndexed"):
        for name, value in (("backoffLimitPerIndex", per_index), ("maxFailedIndexes", failed)):
            if value is not None:
                found.append(invalid(f"{at}.{name}", value, "requires indexed completion mode"))
    replacement = spec.get("podReplacementPolicy")
    if replacement not in (None, "Failed", "TerminatingOrFailed"):
        found.append(not_supported(f"{at}.podReplacementPolicy", replacement, ("Failed", "TerminatingOrFailed")))
    return found + pods.template(spec["template"], f"{at}.template") + _restart_policy(spec, f"{at}.template.spec.restartPolicy")


def _managed_by(value: str | None, at: str) -> list[FieldError]:
    if value is None:
        return []
    domain, slash, path = value.partition("/")
    if not value:
        return [required(at)]
    if not (slash and domain and path):
        return [invalid(at, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    return [invalid(at, domain, text) for text in names.dns_subdomain(domain)]


def _mode(spec: Json, at: str) -> list[FieldError]:
    mode, completions, parallelism = spec.get("completionMode"), spec.get("completions"), spec.get("parallelism")
    if mode not in (None, "NonIndexed", "Indexed"):
        return [not_supported(f"{at}.completionMode", mode, ("NonIndexed", "Indexed"))]
    if mode != "Indexed":
        return []
    found = [] if completions is not None else [required(f"{at}.completions", "when completion mode is Indexed")]
    if parallelism is not None and parallelism > 100000:
        found.append(invalid(f"{at}.parallelism", parallelism, "must be less than or equal to 100000 when completion mode is Indexed"))
    failed = spec.get("maxFailedIndexes")
    if completions is not None and failed is not None and failed > completions:
        found.append(invalid(f"{at}.maxFailedIndexes", failed, "must be less than or equal to completions"))
    return found


def _restart_policy(spec: Json, at: str) -> list[FieldError]:
    policy = spec["template"]["spec"].get("restartPolicy", "")
    if policy in ("Always", ""):
        return [required(at, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(at, policy, ("OnFailure", "Never"))]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def job_update(new: Json, old: Json) -> list[FieldError]:
    """A changed job. The server shows its internal struct for a changed template; this shows the template."""
    spec, before = new["spec"], old["spec"]
    found = job(new) + _spec_with_selector(spec)
    if spec.get("completionMode") != "Indexed":
        found += immutable(spec.get("completions"), before.get("completions"), "spec.completions")
    elif (
        spec.get("completions") is not None
        and spec["completions"] != before.get("completions")
        and spec["completions"] != spec.get("parallelism")
    ):
        found.append(invalid("spec.completions", spec.get("completions"), "can only be modified in tandem with spec.parallelism"))
    if not same(spec.get("selector"), before.get("selector")):
        selector = spec.get("selector")
        found.append(invalid("spec.selector", None if selector is None else selector_text(selector), "field is immutable"))
    if not before.get("suspend"):
        found += immutable(spec["template"], before["template"], "spec.template")
    for name in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        found += immutable(spec.get(name), before.get(name), f"spec.{name}")
    return found


def job_status(new: Json, old: Json) -> list[FieldError]:
    found: list[FieldError] = []
    for name in ("active", "succeeded", "failed", "ready", "terminating"):
        found += not_negative(new["status"].get(name), f"status.{name}")
    return found


# --- CronJob


def cron_job(obj: Json) -> list[FieldError]:
    found = _cron_spec(obj["spec"], None)
    name = obj["metadata"].get("name", "")
    if len(name) > 52:
        found.append(invalid("metadata.name", name, "must be no more than 52 characters"))
    return found


def cron_job_update(new: Json, old: Json) -> list[FieldError]:
    return _cron_spec(new["spec"], old["spec"])


def _cron_spec(spec: Json, before: Json | None) -> list[FieldError]:
    schedule = spec.get("schedule", "")
    allowed = before is not None and "TZ" in before.get("schedule", "")
    found = _schedule(schedule, spec.get("timeZone"), allowed) if schedule else [required("spec.schedule")]
    found += not_negative(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds")
    if before is None or before.get("timeZone") != spec.get("timeZone"):
        found += _time_zone(spec.get("timeZone"))
    policy = spec.get("concurrencyPolicy", "")
    if policy not in ("Allow", "Forbid", "Replace"):
        found.append(not_supported("spec.concurrencyPolicy", policy, ("Allow", "Forbid", "Replace")))
    inner, at = spec["jobTemplate"]["spec"], "spec.jobTemplate.spec"
    found += _spec(inner, at)
    if inner.get("selector") is not None:
        found.append(invalid(f"{at}.selector", selector_text(inner["selector"]), "`selector` will be auto-generated"))
    if inner.get("manualSelector"):
        found.append(not_supported(f"{at}.manualSelector", True, ("nil", "false")))
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        found += not_negative(spec.get(name), f"spec.{name}")
    return found


def _schedule(schedule: str, zone: str | None, zone_allowed: bool) -> list[FieldError]:
    found = []
    try:
        cron.check(schedule)
    except cron.ScheduleError as error:
        found.append(invalid("spec.schedule", schedule, str(error)))
    if "TZ" in schedule and zone_allowed and zone is not None:
        found.append(invalid("spec.schedule", schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
    elif "TZ" in schedule and not zone_allowed:
        found.append(invalid("spec.schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
    return found


def _time_zone(zone: str | None) -> list[FieldError]:
    if zone is None:
        return []
    if not zone:
        return [invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")]
    unknown = invalid("spec.timeZone", zone, f"unknown time zone {zone}")
    if any(part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part) for part in zone.split("/")):
        return [unknown]
    found = []
    if zone.lower() == "local":
        found.append(invalid("spec.timeZone", zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
    return found if _zone_exists(zone) else [*found, unknown]


def _zone_exists(zone: str) -> bool:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if zone in ("UTC", "Local"):
        return True
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
