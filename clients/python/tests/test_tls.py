"""TLS: a service whose CA is named is asked, and no other."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from service import PROGRAM, START_PATIENCE_S

from bitacora_ledger import AsyncClient, Client, ConnectFailed

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The folder of a service with TLS, and its URL."""
    folder = tmp_path_factory.mktemp("secured")
    openssl(folder, "req", "-x509", *KEY, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=A CA", "-days", "2")
    openssl(folder, "req", *KEY, "-keyout", "ledger.key", "-out", "request.pem", "-subj", "/CN=ledger")
    (folder / "extensions").write_text("subjectAltName=DNS:localhost\nbasicConstraints=critical,CA:FALSE\n")
    issued = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "extensions"]
    openssl(folder, "x509", "-req", "-in", "request.pem", *issued, "-out", "ledger.pem")
    log = folder / "log"
    served = [
        PROGRAM, "serve", "--create", "main", "--data", "data", "--keyring", "keyring", "--listen", "127.0.0.1:0",
        "--tls-certificate", "ledger.pem", "--tls-key", "ledger.key",
    ]  # fmt: skip
    with log.open("wb") as out:
        process = subprocess.Popen(served, cwd=folder, stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + START_PATIENCE_S
        while not (found := re.search(rb"listening on https://127\.0\.0\.1:(\d+)", log.read_bytes())):
            assert time.monotonic() < deadline and process.poll() is None, log.read_text()
            time.sleep(0.02)
        yield folder, f"https://localhost:{int(found[1])}"
    finally:
        process.kill()
        process.wait()


def test_a_service_is_trusted_by_the_ca_that_is_named(
    secured: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, url = secured
    monkeypatch.setenv("BITACORA_CA_FILE", str(folder / "ca.pem"))
    with Client(url, token_file=folder / "keyring.admin-token") as client:
        assert client.append({"id": "1", "source": "/t", "type": "x.noted", "subject": "s"}).receipts


async def test_tasks_trust_it_too(secured: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, url = secured
    monkeypatch.setenv("BITACORA_CA_FILE", str(folder / "ca.pem"))
    async with AsyncClient(url, token_file=folder / "keyring.admin-token") as client:
        assert (await client.append({"id": "2", "source": "/t", "type": "x.noted", "subject": "s"})).receipts


def test_a_service_of_an_unknown_ca_is_sent_nothing(secured: tuple[Path, str]) -> None:
    folder, url = secured
    with Client(url, token_file=folder / "keyring.admin-token", retries=0) as client, pytest.raises(ConnectFailed):
        client.append({"id": "3", "source": "/t", "type": "x.noted", "subject": "s"})
