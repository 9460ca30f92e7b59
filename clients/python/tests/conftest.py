"""What tests share: a governed service, and clients of an agent."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from service import Service

from bitacora_ledger import AsyncClient, Client


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BITACORA_URL", "BITACORA_LEDGER", "BITACORA_TOKEN", "BITACORA_TOKEN_FILE", "BITACORA_CA_FILE"):
        monkeypatch.delenv(name, raising=False)


def running() -> Iterator[Service]:
    # A socket's path is short: not below pytest's folders.
    with tempfile.TemporaryDirectory(prefix="bitacora-") as folder:
        service = Service(Path(folder))
        try:
            service.govern()
            yield service
        finally:
            service.stop()


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """A service that tests share."""
    yield from running()


@pytest.fixture
def own_service() -> Iterator[Service]:
    """A service that one test may kill."""
    yield from running()


@pytest.fixture(scope="session")
def token(service: Service) -> str:
    return service.agent("coder")


@pytest.fixture
def client(service: Service, token: str) -> Iterator[Client]:
    with Client(service.url, token=token) as client:
        yield client


@pytest.fixture
async def async_client(service: Service, token: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service.url, token=token) as client:
        yield client
