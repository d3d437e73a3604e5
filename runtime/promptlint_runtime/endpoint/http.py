"""A small HTTP client over one kept connection: JSON, text, and server-sent events with their times."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, RemoteDisconnected
from ipaddress import ip_address
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from promptlint.errors import InputError, UsageError

_SHOWN = 300  # characters of a server's error
_ASIDE = 20.0  # seconds that a server may take to tell something of itself


_STEPS = {
    401: "check the key in the environment, and --api-key-env",
    403: "check the key in the environment, and --api-key-env",
    404: "check the URL, --surface and --model",
    429: "wait, or send fewer prompts",
}
DONE = "[DONE]"  # the `type` of the event that ends a stream of the OpenAI kind


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event, and the seconds since the request was sent."""

    data: Mapping[str, Any]
    seconds: float


class Http:
    """Talks to one server. Secret headers are sent and never appear in an error."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float = 600.0) -> None:
        """Take the base URL, with or without a path such as ``/v1``.

        Raises:
            UsageError: no http or https URL.
        """
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url!r} is not the URL of a server", "give for example http://127.0.0.1:8000")
        if parts.username or parts.password:
            raise UsageError("keys do not belong into the URL", "put the key into the environment")
        self.host = parts.hostname
        self.base = parts.path.rstrip("/").removesuffix("/v1")
        self._make = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._address = (parts.hostname, parts.port)
        self._timeout = timeout
        self._headers = dict(headers)
        self._open: HTTPConnection | None = None

    @property
    def is_local(self) -> bool:
        """Tell whether the server is this machine or in a private network, and so costs nothing."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_private
        except ValueError:
            return False

    def get(self, path: str) -> str | None:
        """Return the text at a path below the server's root; None if there is none, or none in time."""
        try:
            response = self._send("GET", path, None, min(_ASIDE, self._timeout))
            text = response.read().decode("utf-8", "replace")
        except (OSError, HTTPException):
            self.close()
            return None
        return text if response.status == 200 else None

    def post(self, path: str, body: Mapping[str, Any]) -> Any | None:
        """Return the JSON answer to a POST; None if the server refuses it."""
        try:
            response = self._send("POST", path, body)
            data = response.read()
        except (OSError, HTTPException):
            self.close()
            return None
        if response.status != 200:
            return None
        try:
            return json.loads(data)
        except ValueError:
            return {}

    def stream(self, path: str, body: Mapping[str, Any]) -> Iterator[Event]:
        """Send a request and yield its server-sent events as they come.

        Raises:
            InputError: the server cannot be reached, refuses the request, or breaks off.
        """
        begun = perf_counter()
        try:
            response = self._send("POST", path, body)
            if response.status != 200:
                raise InputError(
                    f"{self.host}: HTTP {response.status}: {_reason(response.read())}",
                    _STEPS.get(response.status, "see the server's log"),
                )
            for line in response:
                if line.startswith(b"data:") and line[5:].strip():
                    yield Event(_event(line[5:].strip()), perf_counter() - begun)
            response.read()  # tells the connection that the answer is over
        except TimeoutError:
            self.close()
            raise InputError(
                f"{self.host}: nothing came for {self._timeout:g} s",
                "check the server's log, or give --timeout",
            ) from None
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            what = "the answer is not JSON" if isinstance(error, ValueError) else type(error).__name__
            raise InputError(
                f"{self.host}: {what}: {error}", "check that the server runs, and its log"
            ) from None

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None, timeout: float | None = None
    ) -> HTTPResponse:
        timeout = self._timeout if timeout is None else timeout
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", **self._headers}
        if self._open is not None and self._open.sock is not None:
            self._open.sock.settimeout(timeout)
            with suppress(RemoteDisconnected, ConnectionResetError, BrokenPipeError):  # closed by the server
                self._open.request(method, self.base + path, data, headers)
                return self._open.getresponse()
        self.close()
        self._open = self._make(self._address[0], self._address[1], timeout=timeout)
        self._open.request(method, self.base + path, data, headers)
        return self._open.getresponse()


def _event(text: bytes) -> Mapping[str, Any]:
    if text == DONE.encode():
        return {"type": DONE}
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"an object was expected, not {type(found).__name__}")  # noqa: TRY004  as broken JSON
    return found


def _reason(data: bytes) -> str:
    text = " ".join(data.decode("utf-8", "replace").split())
    try:
        error = json.loads(text)
        found = error.get("error", error)
        text = str(found.get("message", found) if isinstance(found, dict) else found)
    except (ValueError, AttributeError):
        pass
    return text[:_SHOWN]
