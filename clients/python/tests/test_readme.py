"""The README's first page and snippets run as they are pasted."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from service import PROGRAM

README = (Path(__file__).parents[1] / "README.md").read_text()
DEFAULT = "127.0.0.1:7717"


def test_what_is_pasted_from_the_readme_works(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    shell = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[1].replace(DEFAULT, address)
    shell = shell.replace("bitacora serve", f"bitacora serve --listen {address}")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "bitacora").symlink_to(Path(PROGRAM).resolve())
    clean = {name: value for name, value in os.environ.items() if not name.startswith("BITACORA_")}
    environment = clean | {"PATH": f"{folder}:{os.environ['PATH']}"}
    begun = subprocess.Popen(
        ["bash", "-euc", shell + "\ntouch ready\nwait"], cwd=tmp_path, env=environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=(tmp_path / "errors").open("wb"),
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 30
        while not (tmp_path / "ready").exists():
            assert begun.poll() is None and time.monotonic() < deadline, (tmp_path / "errors").read_text()
            time.sleep(0.05)
        said = []
        for snippet in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
            done = subprocess.run(
                [sys.executable, "-c", snippet.replace(DEFAULT, address)],
                cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip
            assert done.returncode == 0, f"{snippet}\n{done.stderr}"
            said.append(done.stdout)
    finally:
        os.killpg(begun.pid, signal.SIGTERM)
        begun.wait(20)
    assert said[0].startswith("3\ndeny: No tool `drop` is registered")
    assert "x.noted" in said[0] and "tool.completed" in said[0] and "never printed" not in said[0]
    assert int(said[1]) > 1_000 and said[2].startswith("deny:") and said[3] == "{'count': 2}\n"
