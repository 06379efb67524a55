"""The smallest client that can record what a real server answers."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Protocol


class Send(Protocol):
    """One request; the status code and the decoded answer, also of a refusal."""

    def __call__(
        self, method: str, path: str, body: Any, content_type: str = "application/json"
    ) -> tuple[int, Any]: ...


def connect(url: str, ca_file: str, token: str) -> Send:
    """Requests to the server at `url`, whose authority is in a file."""
    return connect_with(url, Path(ca_file).read_bytes(), token)


def connect_with(url: str, ca_pem: bytes, token: str) -> Send:
    """Requests to the server at `url`."""
    context = ssl.create_default_context(cadata=ca_pem.decode())

    def send(
        method: str, path: str, body: Any, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": content_type}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=context, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            text = error.read()
            # A server that does not serve a path yet answers in plain text.
            is_json = error.headers.get_content_type() == "application/json"
            return error.code, json.loads(text) if is_json else text.decode()

    return send
