"""The package holds what users need, and the README's first page and snippets run from it as they are pasted."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from service import PROGRAM

CLIENT = Path(__file__).parents[1]
README = (CLIENT / "README.md").read_text()
DEFAULT = "127.0.0.1:7717"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("BITACORA_")}


def python(*arguments: str | Path, folder: Path, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=CLEAN | variables, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder, and the package installed there as from an index: by a wheel that its source archive makes."""
    folder = tmp_path_factory.mktemp("package")
    python("-m", "hatchling", "build", "--target", "sdist", "--directory", folder / "made", folder=CLIENT)
    (archive,) = (folder / "made").iterdir()
    assert archive.name == "bitacora_ledger-0.1.0.tar.gz"
    with tarfile.open(archive) as packed:
        names = {Path(name).parts[1] for name in packed.getnames()}
    assert names == {".gitignore", "LICENSE", "PKG-INFO", "README.md", "examples", "pyproject.toml", "src"}
    python(
        "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", "site", archive,
        folder=folder,
    )  # fmt: skip
    assert sorted(one.name for one in (folder / "site").iterdir()) == [
        "bitacora_ledger",
        "bitacora_ledger-0.1.0.dist-info",
    ]
    return folder / "site"


def test_the_package_is_typed_and_found_by_its_name(installed: Path) -> None:
    asked = "import importlib.metadata as m, bitacora_ledger as b; print(b.__file__, m.version('bitacora-ledger'), b.__version__)"
    said = python("-c", asked, folder=installed.parent, PYTHONPATH=str(installed))
    assert said.split() == [str(installed / "bitacora_ledger/__init__.py"), "0.1.0", "0.1.0"]
    assert (installed / "bitacora_ledger/py.typed").exists()


def test_what_is_pasted_from_the_readme_works(tmp_path: Path, installed: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    shell = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[1].replace(DEFAULT, address)
    shell = shell.replace("bitacora serve", f"bitacora serve --listen {address}")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "bitacora").symlink_to(Path(PROGRAM).resolve())
    variables = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(installed)}
    begun = subprocess.Popen(
        ["bash", "-euc", shell + "\ntouch ready\nwait"], cwd=tmp_path, env=CLEAN | variables, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=(tmp_path / "errors").open("wb"),
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 30
        while not (tmp_path / "ready").exists():
            assert begun.poll() is None and time.monotonic() < deadline, (tmp_path / "errors").read_text()
            time.sleep(0.05)
        snippets = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
        said = [python("-c", one.replace(DEFAULT, address), folder=tmp_path, **variables) for one in snippets]
    finally:
        os.killpg(begun.pid, signal.SIGTERM)
        begun.wait(20)
    assert said[0].startswith("3\ndeny: No tool `drop` is registered")
    assert "x.noted" in said[0] and "tool.completed" in said[0] and "never printed" not in said[0]
    assert int(said[1]) > 1_000 and said[2].startswith("deny:") and said[3] == "{'count': 2}\n"
