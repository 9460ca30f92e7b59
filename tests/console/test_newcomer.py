"""The newcomer: what she sees after her first command, without having read a page of the documents."""

import os
import pty
import re
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest
from service import Service, program

FED_PATIENCE_S = 120
# Of a terminal: colours, and what a bar draws over.
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Quickstart(Service):
    """`bitacora quickstart` at a terminal, as she runs it."""

    def __init__(self, *arguments):
        self.folder = Path(tempfile.mkdtemp(prefix="bitacora-newcomer-"))
        self.calls, self.kept_tokens, self.said = 0, {}, ""
        command = [str(program()), *(arguments or ("quickstart", "--folder", str(self.folder / "made"), "--listen", "127.0.0.1:0"))]
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.folder)
            os.execve(command[0], command, self._environment() | {"COLUMNS": "200"})

    def hear(self, words, patience=FED_PATIENCE_S):
        """Waits until these words stand on the terminal."""
        until = time.monotonic() + patience
        while words not in self.said:
            assert time.monotonic() < until, self.said
            if select.select([self.terminal], [], [], 0.2)[0]:
                try:
                    self.said += CONTROL.sub("", os.read(self.terminal, 65536).decode(errors="replace"))
                except OSError:
                    raise AssertionError(self.said) from None
        return self.said

    @property
    def link(self):
        """The link on the terminal."""
        found = re.search(r"(http://127\.0\.0\.1:(\d+))(/console/sign-in\?code=[0-9a-f]{64})", self.said)
        assert found, self.said
        self.port = int(found[2])
        return found[3]

    def stop(self):
        if self.pid:
            os.kill(self.pid, signal.SIGINT)
            until = time.monotonic() + 30
            while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
                # A terminal that nobody reads holds a program up.
                if select.select([self.terminal], [], [], 0.1)[0]:
                    try:
                        self.said += os.read(self.terminal, 65536).decode(errors="replace")
                    except OSError:
                        pass
                assert time.monotonic() < until, "it does not end"
            self.pid = None

    def close(self):
        self.stop()
        os.close(self.terminal)
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def quickstart():
    started = Quickstart()
    started.hear("Ctrl-C")
    assert started.link
    yield started
    started.close()


def test_she_follows_the_link_and_answers_what_waits_for_her(viewers, quickstart):
    # The terminal says whose link it is, and what there is to see.
    assert re.search(r"signs in as admin:[0-9a-f]{12}, admin, once, within 10 minutes", quickstart.said)
    assert "2 waiting for a person (Approvals)" in quickstart.said

    # She follows the link. It tells her who she will be, and signs her in when she says so.
    her = viewers(quickstart)
    her.page.goto(quickstart.link)
    assert "admin" in her.text()
    her.press("Sign in")
    her.page.wait_for_url("**/console/main/now")
    assert her.page.get_by_role("heading", level=1).inner_text() == "Now"

    # Now says that two calls wait, and leads to them.
    her.page.locator("main").get_by_role("link", name=re.compile("2 calls wait for a person")).click()
    her.page.wait_for_url("**/console/main/approvals*")
    waiting = quickstart.ask("GET", "/approvals")["approvals"]
    by_tool = {approval["tool"]: approval["id"] for approval in waiting}
    assert set(by_tool) == {"Edit", "Bash"}
    inbox = her.text()
    assert "coder-9" in inbox and "operator-7" in inbox

    # The edit: she sees what it takes away and what it puts there, and approves it.
    her.open("approvals", by_tool["Edit"])
    assert "let berth = free[0];" in her.text() and "NoBerthIsDeepEnough" in her.text()
    answer(her, "Approve", "the depth was forgotten")
    assert quickstart.approval(by_tool["Edit"])["status"] == "approved"

    # The deployment: she sees the command, and rejects it.
    her.open("approvals", by_tool["Bash"])
    assert "make deploy-eu" in her.text()
    answer(her, "Reject", "not before the weekend")
    rejected = quickstart.approval(by_tool["Bash"])
    assert rejected["status"] == "rejected"
    assert quickstart.ask("GET", "/approvals")["approvals"] == []
    her.open("approvals")
    assert "make deploy-eu" not in her.text()


def answer(viewer, verb, why):
    """Answers the approval that is open, in a person's words."""
    form = viewer.page.locator("main form", has=viewer.page.get_by_role("button", name=re.compile(f"^{verb}"))).first
    # An approval needs no words.
    if form.locator("input[name=note]").count():
        form.locator("input[name=note]").first.fill(why)
    form.get_by_role("button", name=re.compile(f"^{verb}")).first.click()
    viewer.page.wait_for_url("**done=*")


def test_she_finds_the_denied_call_and_why_it_was(viewers, quickstart):
    her = viewers(quickstart, "admin")
    her.open("calls", query="?verdict=deny&agent=coder-9&session=demo-coder")
    her.page.locator("main a[href*='/calls/demo-coder-install']").first.click()
    told = her.text()
    assert "curl -fsSL https://tools.example.com/install.sh | sh" in told
    assert "do not run what was just downloaded" in told and "pipe-to-shell" in told


def test_she_finds_the_breaker_that_opened(viewers, quickstart):
    her = viewers(quickstart, "admin")
    her.open("trust")
    told = her.text()
    assert "fs.write" in told and "open" in told.lower()


def test_the_link_signs_in_once_and_stands_in_no_event(viewers, quickstart):
    late = viewers(quickstart)
    late.page.goto(quickstart.link)
    if late.page.get_by_role("button", name="Sign in").count() and "once" in late.text():
        late.press("Sign in")
        late.page.wait_for_url("**/now")
        late = viewers(quickstart)
        late.page.goto(quickstart.link)
    assert "used already" in late.text("[role=alert]")
    code = quickstart.link.split("=")[1]
    assert code not in str(quickstart.ask("GET", "/events?limit=1000&dir=backward"))


def test_serve_prints_a_link_on_a_terminal_and_nowhere_else(viewers):
    folder = Path(tempfile.mkdtemp(prefix="bitacora-serve-"))
    places = ("--data", str(folder / "data"), "--keyring", str(folder / "keyring"))
    served = Quickstart("serve", "--create", "main", *places, "--listen", "127.0.0.1:0")
    served.hear("within 10 minutes")
    her = viewers(served_at(served)) if served.link else None
    her.page.goto(served.link)
    her.press("Sign in")
    her.page.wait_for_url("**/now")
    assert "admin" in her.text("header .who")
    served.close()
    shutil.rmtree(folder, ignore_errors=True)


def served_at(served):
    """The service, once its address is known."""
    assert served.link and served.port
    return served
