"""Which endpoint has a model: the rule, from the environment and the model's name.

1. ``REJOINDER_JUDGE_URL``, where it is set, has every model, under the name as typed.
2. A prefix names the place: ``ollama/NAME``, ``vllm/NAME`` and ``llama.cpp/NAME`` a server on this machine,
   ``anthropic/NAME`` and ``openai/NAME`` those services, where their key is set.
3. ``claude-...`` is at Anthropic where ``ANTHROPIC_API_KEY`` is set.
4. ``OPENAI_BASE_URL``, else OpenAI itself where ``OPENAI_API_KEY`` is set.
5. Otherwise the first server on this machine that lists the model: Ollama, vLLM, llama.cpp, at their usual ports.

A key is sent to its own endpoint and to no other.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from rejoinder.errors import JudgeError, brief

URL, KEY = "REJOINDER_JUDGE_URL", "REJOINDER_JUDGE_KEY"
OPENAI_URL, OPENAI_KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
ANTHROPIC_URL, ANTHROPIC_KEY = "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"
OLLAMA_URL = "OLLAMA_HOST"
Provider: TypeAlias = Literal["endpoint", "openai", "anthropic", "ollama", "vllm", "llama.cpp"]
_OPENAI, _ANTHROPIC = "https://api.openai.com/v1", "https://api.anthropic.com/v1"
LOCAL_PORTS: dict[Provider, int] = {"ollama": 11434, "vllm": 8000, "llama.cpp": 8080}
_LISTING_TIMEOUT = 2.0  # seconds; on this machine a server that is there answers at once
_LISTED = 5  # names of models in an error


class EndpointAddress(NamedTuple):
    """Where requests for a model go; the names are those of the variables to set where it fails."""

    provider: Provider
    url: str
    key: str
    model: str  # the endpoint's name for it
    url_name: str = URL
    key_name: str = KEY


def find_endpoint(model: str) -> EndpointAddress:
    """The endpoint of a model, by the rule above."""
    address = _find_by_setting(model) or _find_by_name(model) or _find_by_key(model) or _find_local(model)
    if any(not 33 <= ord(c) <= 126 for c in address.key):
        raise JudgeError(f"the judge's key must consist of visible ASCII characters; set {address.key_name} again")
    return address._replace(url=check_url(address.url, address.url_name))


def check_url(url: str, name: str) -> str:
    """The URL without a slash at its end; an error that does not show it where it is not valid."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        parts, valid = urlsplit(""), False
    if not valid or parts.username or parts.query:
        raise JudgeError(
            f"the judge's URL must be http:// or https:// with a host, without user name, password or query; set {name}"
        )
    return url.rstrip("/")


def _variable(name: str) -> str:
    return os.environ.get(name) or ""


def _find_by_setting(model: str) -> EndpointAddress | None:
    if not (url := _variable(URL)):
        return None
    with contextlib.suppress(ValueError):
        if urlsplit(url).hostname == urlsplit(_ANTHROPIC).hostname:
            return EndpointAddress("anthropic", _with_version(url), _variable(KEY), model)
    return EndpointAddress("endpoint", url, _variable(KEY), model)


def _find_by_name(model: str) -> EndpointAddress | None:
    prefix, _, name = model.partition("/")
    for provider in LOCAL_PORTS:
        if prefix == provider and name:
            return EndpointAddress(provider, _local_url(provider), "", name, OLLAMA_URL if prefix == "ollama" else URL)
    if prefix == "anthropic" and name and _variable(ANTHROPIC_KEY):
        return _anthropic(name)
    if prefix == "openai" and name and _variable(OPENAI_KEY) and not _variable(OPENAI_URL):
        return _openai(name)
    return _anthropic(model) if model.startswith("claude-") and _variable(ANTHROPIC_KEY) else None


def _find_by_key(model: str) -> EndpointAddress | None:
    return _openai(model) if _variable(OPENAI_URL) or _variable(OPENAI_KEY) else None


def _openai(model: str) -> EndpointAddress:
    # Whoever sets our own key but no URL of ours means the endpoint of the general variable.
    key = (_variable(KEY) if _variable(OPENAI_URL) else "") or _variable(OPENAI_KEY)
    provider: Provider = "endpoint" if _variable(OPENAI_URL) else "openai"
    return EndpointAddress(provider, _variable(OPENAI_URL) or _OPENAI, key, model, OPENAI_URL, OPENAI_KEY)


def _anthropic(model: str) -> EndpointAddress:
    url = _with_version(_variable(ANTHROPIC_URL) or _ANTHROPIC)
    return EndpointAddress("anthropic", url, _variable(ANTHROPIC_KEY), model, ANTHROPIC_URL, ANTHROPIC_KEY)


def _with_version(url: str) -> str:
    """An address as Anthropic's own libraries take it, without /v1, with it."""
    return url.rstrip("/").removesuffix("/messages").removesuffix("/v1") + "/v1"


def _local_url(provider: Provider) -> str:
    if provider == "ollama" and (host := _variable(OLLAMA_URL).strip().rstrip("/")):
        scheme, _, rest = host.rpartition("://")
        place, _, path = rest.partition("/")
        has_port = place.rpartition("]")[2].rpartition(":")[2].isdecimal()
        place += "" if has_port or scheme else f":{LOCAL_PORTS['ollama']}"
        place = place.replace("0.0.0.0", "127.0.0.1")  # where a server listens is not where it is
        return f"{scheme or 'http'}://{place}/{path}".rstrip("/").removesuffix("/v1") + "/v1"
    return f"http://127.0.0.1:{LOCAL_PORTS[provider]}/v1"


def _find_local(model: str) -> EndpointAddress:
    """The first server on this machine that lists the model."""
    listed: dict[Provider, list[str]] = {}
    for provider in LOCAL_PORTS:
        names = _list_models(_local_url(provider))
        for name in (model, f"{model}:latest"):
            if name in (names or ()):
                return EndpointAddress(provider, _local_url(provider), "", name)
        if names is not None:
            listed[provider] = names
    if not listed:
        raise JudgeError(
            f"no judge is reachable: set {OPENAI_KEY} or {ANTHROPIC_KEY}, or set {URL} to an OpenAI-compatible "
            f"endpoint (e.g. http://localhost:8000/v1) and {KEY} to its key if it has one, or start Ollama, vLLM or "
            "llama.cpp here, or use judge(model='embedded')"
        )
    provider = next(iter(listed))
    has = "; ".join(f"{one} has {brief(', '.join(names[:_LISTED]), 200)}" for one, names in listed.items())
    raise JudgeError(
        f"no server on this machine lists the model {brief(model)} ({has}); use one of these, or write "
        f"judge(model='{provider}/NAME')"
    )


def _list_models(url: str) -> list[str] | None:
    """The models that a server lists; None where there is none that speaks the protocol."""
    parts = urlsplit(check_url(url, OLLAMA_URL))
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_LISTING_TIMEOUT)
    try:
        connection.request("GET", f"{parts.path}/models", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        content: Any = json.loads(answer.read(1 << 20)) if answer.status == 200 else None
        return [str(one["id"]) for one in content["data"]]
    except (OSError, http.client.HTTPException, ValueError, TypeError, KeyError, RecursionError):
        return None
    finally:
        connection.close()
