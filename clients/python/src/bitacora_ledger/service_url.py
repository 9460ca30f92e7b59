"""The address of a service."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


class ServiceUrlError(ValueError):
    """A text is not the address of a service."""


@dataclass(frozen=True)
class ServiceUrl:
    """The address of a service: host and port, or the path of a Unix socket."""

    origin: str
    """The scheme, host and port that requests name."""
    socket: str | None = None
    """The path of the Unix socket, where it is one."""
    ca_file: str | None = None
    """The file with the issuers that are trusted over TLS, in place of the usual ones."""

    @staticmethod
    def parse(text: str) -> ServiceUrl:
        """Returns the address that a text names: ``http://HOST:PORT``, ``https://HOST:PORT`` or ``unix:PATH``."""
        refused = ServiceUrlError("not the address of a service: http://HOST:PORT, https://HOST:PORT or unix:PATH")
        if text.startswith("unix:"):
            path = text.removeprefix("unix:")
            if not path or "\0" in path:
                raise refused
            return ServiceUrl("http://localhost:80", path)
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise refused from None
        host = parts.hostname
        is_plain = not (parts.query or parts.fragment or "@" in parts.netloc or "?" in text or "#" in text)
        if parts.scheme not in _DEFAULT_PORTS or not host or not is_plain or parts.path not in ("", "/"):
            raise refused
        if any(c.isspace() or not c.isprintable() for c in text):
            raise refused
        name = f"[{host}]" if ":" in host else host
        return ServiceUrl(f"{parts.scheme}://{name}:{port or _DEFAULT_PORTS[parts.scheme]}")

    @property
    def is_encrypted(self) -> bool:
        """``True`` if requests go over TLS."""
        return self.origin.startswith("https:")

    @property
    def authority(self) -> str:
        """Host and port, as a request names them."""
        return self.origin.partition("://")[2]

    @property
    def host_and_port(self) -> tuple[str, int]:
        """The host, an IPv6 address without brackets, and the port."""
        host, _, port = self.authority.rpartition(":")
        return host.removeprefix("[").removesuffix("]"), int(port)

    def __str__(self) -> str:
        return self.origin if self.socket is None else f"unix:{self.socket}"
