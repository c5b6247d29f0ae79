"""Values as the server's types read and print them: quantities, times, bytes, image tags, schedules."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.apiserver.builtin import gotime, gotypes, images, quantity
from fiferail.apiserver.builtin.validation import cron
from fiferail.apiserver.kinds import DecodingRefused

PRINTED = {
    "1000m": "1", "0.5": "500m", "1.5Gi": "1536Mi", "1024Ki": "1Mi", "1e3": "1e3", "100": "100", "+5": "+5", "1000": "1k", "1500": "1500",
    "2048Mi": "2Gi", ".5": "500m", "0": "0", "-1": "-1", "-0.5": "-500m", "0.1n": "1n", "12E": "12E", "1Ki": "1Ki",
    "1000Mi": "1000Mi", "00": "0",
}  # fmt: skip


@pytest.mark.parametrize(("text", "printed"), PRINTED.items(), ids=PRINTED)
def test_quantities_are_printed_canonically(text: str, printed: str) -> None:
    """A quantity comes back in the server's form."""
    assert quantity.canonical(text) == printed


@pytest.mark.parametrize(("text", "rounded"), [("100u", "1m"), ("1", "1"), ("1500m", "1500m"), ("-1u", "-1m")])
def test_resource_lists_are_rounded_up(text: str, rounded: str) -> None:
    """Nothing finer than a thousandth is kept, and nothing is lost to rounding."""
    assert quantity.rounded_up(text) == rounded


REFUSED_QUANTITIES = {
    "": "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    "x": "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    "1kk": "unable to parse quantity's suffix",
    "1Kib": "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
}


@pytest.mark.parametrize(("text", "error"), REFUSED_QUANTITIES.items(), ids=lambda text: text or "empty")
def test_bad_quantities_are_refused_in_the_servers_words(text: str, error: str) -> None:
    """What is no quantity is refused with the server's text."""
    with pytest.raises(quantity.QuantityError) as refused:
        quantity.parse(text)
    assert str(refused.value) == error


TIMES = {
    "2020-01-01T00:00:00Z": "2020-01-01T00:00:00Z",
    "2020-01-01T00:00:00.9Z": "2020-01-01T00:00:00Z",
    "2020-01-01T02:30:00+02:30": "2020-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z": None,
}


@pytest.mark.parametrize(("text", "printed"), TIMES.items(), ids=TIMES)
def test_times_are_printed_in_utc_seconds(text: str, printed: str | None) -> None:
    """A time comes back in UTC and whole seconds; the zero time is no time."""
    assert gotime.seconds(text) == printed


REFUSED_TIMES = {
    "": 'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"',
    "2020": 'parsing time "2020" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "-"',
    "2020-13-01T00:00:00Z": 'parsing time "2020-13-01T00:00:00Z": month out of range',
    "2020-02-30T00:00:00Z": 'parsing time "2020-02-30T00:00:00Z": day out of range',
    "2020-01-01T00:00:00Zx": 'parsing time "2020-01-01T00:00:00Zx": extra text: "x"',
    "2020-01-01T00:00:00": 'parsing time "2020-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"',
    "é": 'parsing time "\\xc3\\xa9" as "2006-01-02T15:04:05Z07:00": cannot parse "\\xc3\\xa9" as "2006"',
}


@pytest.mark.parametrize(("text", "error"), REFUSED_TIMES.items(), ids=lambda text: text or "empty")
def test_bad_times_are_refused_in_gos_words(text: str, error: str) -> None:
    """What is no time is refused with the text of Go's time package."""
    with pytest.raises(gotime.TimeError) as refused:
        gotime.seconds(text)
    assert str(refused.value) == error


def test_micro_times_want_six_decimals() -> None:
    """A lease's times have exactly six decimals."""
    assert gotime.micros("2020-01-01T01:00:00.123456+01:00") == "2020-01-01T00:00:00.123456Z"
    with pytest.raises(gotime.TimeError) as refused:
        gotime.micros("2020-01-01T00:00:00Z")
    assert str(refused.value).endswith('cannot parse "Z" as ".000000"')


BASE64 = {"YQ": 0, "YQ=": 3, "!!": 0, "YWJj!": 4, "YQ==YQ==": 4, "Y": 0}


@pytest.mark.parametrize(("text", "byte"), BASE64.items(), ids=BASE64)
def test_bad_base64_is_refused_at_its_byte(text: str, byte: int) -> None:
    """The byte at which Go's decoder gives up is named."""
    with pytest.raises(DecodingRefused) as refused:
        gotypes.decode({"data": {"a": text}}, gotypes.of_kind("", "v1", "Secret"))
    assert str(refused.value) == f"illegal base64 data at input byte {byte}"


POLICIES = {
    "nginx": "Always",
    "nginx:latest": "Always",
    "nginx:1.2": "IfNotPresent",
    "localhost:5000/nginx": "Always",
    "nginx@sha256:" + "a" * 64: "IfNotPresent",
    "Bad/Image": "IfNotPresent",
    "": "IfNotPresent",
    "a" * 64: "IfNotPresent",
}


@pytest.mark.parametrize(("image", "policy"), POLICIES.items(), ids=lambda text: text[:24] or "empty")
def test_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    """Only an image without tag and digest, or tagged latest, is always pulled."""
    assert images.pull_policy(image) == policy


SCHEDULES = {
    "*/5 * * * *": "", "@hourly": "", "@every 1h30m": "", "0 0 1 JAN-MAR MON": "", "1,2-4/2 * * * *": "",
    "x * * * *": 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
    "1-2-3 * * * *": "too many hyphens: 1-2-3", "1/2/3 * * * *": "too many slashes: 1/2/3",
    "* * 0 * *": "beginning of range (0) below minimum (1): 0",
    "@every x": 'failed to parse duration @every x: time: invalid duration "x"',
}  # fmt: skip


@pytest.mark.parametrize(("schedule", "error"), SCHEDULES.items(), ids=SCHEDULES)
def test_schedules_are_judged_as_the_cron_library_does(schedule: str, error: str) -> None:
    """A schedule passes, or is refused in the library's words."""
    said = ""
    try:
        cron.check(schedule)
    except cron.ScheduleError as refused:
        said = str(refused)
    assert said == error


def test_what_needs_no_change_is_shared() -> None:
    """Decoding and defaulting an object that is complete give the very same object: patches stay cheap."""
    from fiferail.apiserver.builtin import defaults

    kind = gotypes.of_kind("apps", "v1", "Deployment")
    body: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": {}, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
    }
    complete = defaults.apply(gotypes.decode(body, kind)[0], kind)
    assert gotypes.decode(complete, kind)[0] is complete
    assert defaults.apply(complete, kind) is complete
