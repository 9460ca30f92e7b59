"""The team lead: asks what an agent did and cost this morning, follows it to a call that was denied, and takes the figures along."""

import csv
import hashlib
import json
import re
from pathlib import Path

import pytest

SESSION = "s-morning"
AGENT = "builder"
MODEL_CALLS = ((900, 120, 14_000), (1_500, 300, 21_500))


def tell(service, number, kind, data):
    """Appends an event of the agent's session, as its harness does."""
    event = {
        "specversion": "1.0", "id": f"{SESSION}-{number}", "source": "harness/1", "type": kind, "subject": f"session/{SESSION}",
        "session": SESSION, "agent": AGENT, "data": data,
    }
    service.command("append", given=json.dumps(event) + "\n", token=service.kept_token("agent", AGENT))


@pytest.fixture(scope="module")
def morning(governed):
    """A morning of one agent: two answers of a model, a call that ran, one that a person approved, one that was denied."""
    tell(governed, 1, "session.started", {"harness": "claude-code", "version": "2.1.0", "model": "claude-sonnet-4-5", "cwd": "/srv/shop"})
    for number, (read, written, cost) in enumerate(MODEL_CALLS, start=2):
        tokens = {"in": read, "out": written}
        tell(governed, number, "model.called", {
            "model": "claude-sonnet-4-5", "provider": "anthropic", "tokens": tokens, "cost_micro_usd": cost, "duration_ms": 900, "status": "ok",
        })
    trusted = ("--tool", "lookup", "--approvals", "400", "--streak", "400", "--reason", "a test")
    governed.command("trust", "set", *trusted)
    token = governed.kept_token("agent", AGENT)
    calls = {}
    for tool, args in (("lookup", {"q": "cart"}), ("drop", {"table": "orders"}), ("deploy", {"to": "staging"})):
        calls[tool] = governed.decide(tool, args, agent=AGENT, session=SESSION, call=f"{AGENT}-{tool}")
    assert [calls[tool]["verdict"] for tool in ("lookup", "drop", "deploy")] == ["allow", "deny", "review"]
    end = {"call": calls["lookup"]["call"], "status": "ok", "durationMs": 1200, "session": SESSION, "agent": AGENT}
    governed.ask("POST", "/outcome", end, token)
    operator = governed.kept_token("operator", "Ada")
    governed.ask("POST", f"/approvals/{calls['deploy']['approval']['id']}:approve", {"note": "after the tests"}, operator)
    return calls


def test_the_lead_finds_what_an_agent_did_and_cost_this_morning(viewers, governed, morning, tmp_path):
    lead = viewers(governed, "auditor", "Lin")
    page = lead.page

    # Who worked today?
    lead.open("sessions")
    page.get_by_label("Agent").fill(AGENT)
    lead.press("Show")
    page.get_by_role("link", name="Today").click()
    row = page.locator("#sessions tbody tr")
    assert row.count() == 1
    cells = dict(zip(page.locator("#sessions thead th").all_inner_texts(), row.locator("td").all_inner_texts(), strict=True))
    assert (cells["Calls"], cells["Denied"], cells["Agent"]) == ("3", "1", AGENT)
    assert cells["USD"] == "$0.0355"

    # What happened in it?
    row.get_by_role("link", name=SESSION).click()
    assert page.get_by_role("heading", level=1).inner_text() == f"Session {SESSION}"
    told = page.locator("#events li").evaluate_all("lines => lines.map(line => line.dataset.type)")
    positions = [int(text[1:]) for text in page.locator("#events a.place").all_inner_texts()]
    assert positions == sorted(positions) and len(positions) == len(told)
    for kind in ("session.started", "model.called", "tool.requested", "decision.made", "approval.requested", "tool.completed"):
        assert kind in told, kind
    assert "$0.0355" in lead.text("#session") and "2,400 tokens in, 420 out" in lead.text("#session")
    page.get_by_role("link", name="newest first").click()
    newest = [int(text[1:]) for text in page.locator("#events a.place").all_inner_texts()]
    assert newest == positions[::-1]

    # Which one was denied, and why?
    page.get_by_role("link", name="1 denied").click()
    assert page.locator("#calls tbody tr").count() == 1
    page.locator("#calls tbody a").first.click()
    story = lead.text()
    assert morning["drop"]["call"] in page.get_by_role("heading", level=1).inner_text()
    assert "policy-deny" in story and "nothing is dropped" in story and "orders" in story
    assert page.locator(".rungs .decides .step").inner_text() == "policy"
    assert page.locator(".rungs li").count() == len(governed.ask("GET", f"/decisions/{morning['drop']['position']}")["ladder"])

    # Can it be shown that the ledger says so? The page's proof is reckoned here, by RFC 9162.
    page.locator(f"#call a.place:text-is('#{morning['drop']['position']}')").first.click()
    assert page.url.endswith(f"/events/{morning['drop']['position']}")
    page.locator("summary:has-text('hashes')").click()
    entry, *hashes = re.findall(r"[0-9a-f]{64,}", page.locator("details:has(summary:has-text('hashes')) pre").inner_text())
    size = int(page.locator(".proof").inner_text().split(" over all ")[1].split(" ")[0].replace(",", ""))
    assert root_of(entry, hashes, int(morning["drop"]["position"]) - 1, size) == lead.text("#root")

    # And the file for the meeting.
    lead.open("calls", query=f"?session={SESSION}")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    download.value.save_as(tmp_path / "calls.csv")
    rows = list(csv.DictReader(Path(tmp_path / "calls.csv").open(newline="")))
    assert [(line["Call"], line["Verdict"], line["Reason"]) for line in rows] == [
        (f"{AGENT}-deploy", "review", rows[0]["Reason"]), (f"{AGENT}-drop", "deny", "policy-deny"), (f"{AGENT}-lookup", "allow", "allowed"),
    ]
    assert rows[0]["Answered by"].startswith("operator:") and rows[2]["Took"] == "1200"


def root_of(entry, hashes, index, size):
    """The root that an inclusion proof leads to: RFC 9162, 2.1.3.2."""
    here = hashlib.sha256(b"\0" + bytes.fromhex(entry)).digest()
    at, last = index, size - 1
    for sibling in map(bytes.fromhex, hashes):
        assert last > 0
        if at & 1 or at == last:
            here = hashlib.sha256(b"\1" + sibling + here).digest()
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            here = hashlib.sha256(b"\1" + here + sibling).digest()
        at, last = at >> 1, last >> 1
    assert last == 0
    return here.hex()
