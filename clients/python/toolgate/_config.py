"""What a client is made with: given values first, then the environment, then defaults."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from ._errors import InvalidConfiguration

BASE_URL = "http://127.0.0.1:8787"
#: The service itself gives up on a check after 3 seconds.
TIMEOUT = 10.0
RETRIES = 2
MOST_RETRIES = 10


@dataclass(frozen=True)
class Settings:
    base: SplitResult
    timeout: float
    retries: int
    #: Kept out of the printed form.
    key: str = field(repr=False)
    #: The name of the run to which the calls belong.
    run: str | None = None


def settings_from(
    key: str | None,
    base_url: str | None,
    timeout: float | None,
    retries: int | None,
    run: str | None,
) -> Settings:
    return Settings(
        base=_want_url(_given(base_url, "TOOLGATE_BASE_URL") or BASE_URL),
        timeout=want_timeout(TIMEOUT if timeout is None else timeout),
        retries=want_retries(RETRIES if retries is None else retries),
        key=_want_key(_given(key, "TOOLGATE_API_KEY")),
        run=None if run is None else want_run(run),
    )


def want_timeout(seconds: float) -> float:
    numeric = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    # A lock cannot wait longer than some 292 years; a week is plenty and safe everywhere.
    if numeric and math.isfinite(seconds) and 0 < seconds <= 7 * 24 * 3600:
        return float(seconds)
    raise InvalidConfiguration("timeout must be more than 0 seconds and at most a week.")


def want_retries(retries: int) -> int:
    if isinstance(retries, int) and not isinstance(retries, bool) and 0 <= retries <= MOST_RETRIES:
        return retries
    raise InvalidConfiguration(f"retries must be a whole number from 0 to {MOST_RETRIES}.")


def want_run(run: str) -> str:
    return want_header("run", run)


def want_header(option: str, value: str) -> str:
    """The value of an option that is sent as a header."""
    if isinstance(value, str) and re.fullmatch(r"[\x21-\x7e]{1,128}", value):
        return value
    raise InvalidConfiguration(f"{option} must be a name of 1 to 128 visible ASCII characters.")


def _given(value: str | None, name: str) -> str | None:
    return os.environ.get(name) if value is None else value


def _want_key(key: str | None) -> str:
    if not key:
        raise InvalidConfiguration("There is no key: give key=, or set TOOLGATE_API_KEY.")
    # Whatever a header cannot carry; the value is not repeated.
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise InvalidConfiguration("The key has characters no key has.")
    return key


def _want_url(given: str) -> SplitResult:
    try:
        url = urlsplit(given)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    if not usable or not re.fullmatch(r"[\x21-\x7e]+", given):
        raise InvalidConfiguration("base_url must be an http or https address.")
    if "@" in url.netloc or url.query or url.fragment:
        raise InvalidConfiguration("base_url must have no credentials, query or fragment.")
    return url._replace(path=url.path.rstrip("/"))
