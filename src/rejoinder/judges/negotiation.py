"""Which style an endpoint accepts, found out with one request at a time and then remembered.

The style that worked is kept for the process, by endpoint, model and formats; across processes, the stored answers of a
judge say how they were asked for, so that the next ones are asked for in the same way.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import orjson

from rejoinder.errors import JudgeError, brief
from rejoinder.judges.connection import HttpAnswer
from rejoinder.judges.protocol import (
    AnswerForm,
    EndpointRequest,
    Format,
    RequestStyle,
    adapt_style,
    read_error_message,
    refuses_format,
    write_request,
)
from rejoinder.judges.settings import EndpointSettings

_PARAMETER_REFUSED = frozenset({400, 404, 422, 500, 501})  # what endpoints answer to a parameter that they do not know
_UNEXPLAINED = frozenset({400, 422})
_PLAIN_STYLE = RequestStyle()
_MESSAGE_SIZE = 1000  # characters of an error that are searched
_known_styles: dict[tuple[str, str | None, tuple[Format, ...]], RequestStyle] = {}  # by URL, model and formats


@dataclass
class StyleNegotiation:
    """The style of all requests of one call; ``ready`` is set as soon as several may be sent at once."""

    settings: EndpointSettings
    is_plain: bool  # requests to /completions are sent as they are
    last_style: str  # how the judge's last stored answer was asked for
    ready: threading.Event = field(default_factory=threading.Event)
    _formats: tuple[Format, ...] = ()
    _style: RequestStyle = _PLAIN_STYLE
    _working_style: RequestStyle | None = None  # was answered
    _tried_text: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def choose(self, form: AnswerForm | None) -> None:
        """Begin with the style that worked before, else with the best format."""
        formats: tuple[Format, ...] = form.formats if form is not None else ("text",)
        if self.settings.is_anthropic:
            formats = tuple(one for one in formats if one != "schema")
            if not formats:
                raise JudgeError("Anthropic's API takes no response_format; write format='tool' or leave format out")
        self._formats = formats
        stored = RequestStyle.parse(self.last_style.rpartition(": ")[2])
        known = _known_styles.get(self._key) or (stored if stored and stored.format in formats else None)
        self._style = known or RequestStyle(formats[0])
        if known or self.is_plain:
            self.ready.set()

    @property
    def style(self) -> RequestStyle:
        """The style in which to send the next request."""
        with self._lock:
            return self._style

    def write(self, request: EndpointRequest, again: bool, style: RequestStyle) -> bytes:
        """A request in a style, under the endpoint's own name for the model."""
        body = dict(request.again if again else request.body)
        if self.settings.model is not None:
            body["model"] = self.settings.model
        if self.is_plain:
            return orjson.dumps(body)
        return write_request(body, request.form, style, self.settings.is_anthropic)

    def refuses(self, request: EndpointRequest, style: RequestStyle, response: HttpAnswer) -> bool:
        """Whether an endpoint refused the style and not the request; then there is another style to try.

        Where it refused the only format that may be asked for, the user named it, and nothing else is tried.
        """
        with self._lock:
            if self._find_other(request, style, response) is not None:
                return True
            message = self._read_refusal(response)
            if self._is_only_format(style, response) and refuses_format(style.format, message):
                said = brief(" ".join(self.settings.without_key(message).split()), 200)
                raise JudgeError(
                    f"the judge's endpoint does not take {self.describe_format(style)} (HTTP {response.status}, and "
                    f"says {said}); leave format out, and one that it takes is found"
                )
            return False

    def describe_format(self, style: RequestStyle) -> str:
        """A format that the user named, as it is typed; an empty text where it was chosen here."""
        return f"format={style.format!r}" if len(self._formats) == 1 and style.format != "text" else ""

    def _is_only_format(self, style: RequestStyle, response: HttpAnswer) -> bool:
        is_new = self._working_style is None and not self.is_plain
        return is_new and bool(self.describe_format(style)) and response.status in _PARAMETER_REFUSED

    def adapt(self, request: EndpointRequest, style: RequestStyle, response: HttpAnswer) -> bool:
        """Change to another style if an endpoint refused this one; return whether it did."""
        with self._lock:
            other = self._find_other(request, style, response)
            if other is None:
                return False
            self._tried_text = self._tried_text or other.format == "text"
            if self._style == style:  # another worker may have adapted it meanwhile
                self._style = other
            return True

    def _find_other(self, request: EndpointRequest, style: RequestStyle, response: HttpAnswer) -> RequestStyle | None:
        if self.is_plain or response.status not in _PARAMETER_REFUSED or style == self._working_style:
            return None
        if self._working_style is not None:
            return self._working_style
        message = self._read_refusal(response)
        form = None if request.form is None else AnswerForm(request.form.schema, self._formats)
        other = adapt_style(style, request.body, form, message)
        # A refusal that names nothing may be about the format, too: it is left out once.
        unexplained = response.status in _UNEXPLAINED and style.format != "text" and not self._tried_text
        if other is None and unexplained and "text" in self._formats:
            return style._replace(format="text")
        return other

    @staticmethod
    def _read_refusal(response: HttpAnswer) -> str:
        return read_error_message(response.body.decode(errors="replace"))[:_MESSAGE_SIZE]

    def confirm(self, style: RequestStyle) -> None:
        """Keep a style that was answered."""
        with self._lock:
            self._working_style = style
            if not self.is_plain:
                _known_styles[self._key] = style
        self.ready.set()

    def describe(self, style: RequestStyle) -> str:
        """How an answer was asked for, without the address."""
        return "" if self.is_plain else f"{self.settings.provider}: {style}"

    @property
    def _key(self) -> tuple[str, str | None, tuple[Format, ...]]:
        return self.settings.url, self.settings.model, self._formats
