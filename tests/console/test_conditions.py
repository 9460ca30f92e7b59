"""Every page where little is there, where something has failed, and where the service is away: it says what is not known, and why."""

import json
import re
import shutil

from pages import every_page

SECTIONS = ("now", "approvals", "sessions", "runs", "calls", "events", "trust", "policy", "costs", "evidence", "admin")
# Pages that tell what read models keep. Costs has its budgets all the same.
OF_MODELS = ("sessions", "runs", "calls", "costs", "sessions/*", "calls/*", "policy/suggestions")
ARCHIVED = 300


def read(viewer, addresses):
    """Opens each page and returns its words, by address. No page fails, or ends before its end."""
    words = {}
    for address in addresses:
        answer = viewer.page.goto(address)
        assert answer.status == 200, f"{address} answers {answer.status}: {viewer.text('body')[:300]}"
        if "text/html" not in answer.headers["content-type"]:
            continue
        assert viewer.page.locator("h1").count() == 1 and viewer.page.locator("footer form.zone").count() == 1, address
        words[address] = viewer.text("main")
        for slip in ("NaN", "undefined", "None", "null", "Infinity"):
            assert not re.search(rf"\b{slip}\b", words[address].replace("None.", "")), f"{address} says {slip}: {words[address][:500]}"
    return words


def of(service, *parts):
    return "/".join((service.url, "console/main", *parts))


def worked(service):
    """A service in which an agent worked, and what it did is still there when the service is started again."""
    for number in range(3):
        call = service.decide("lookup", {"q": number}, session="s-worked", run="r-worked", model="claude-sonnet-4-5")
        service.outcome(call["call"], session="s-worked", agent="coder")
    service.decide("drop", {"table": "orders"}, session="s-worked")
    tell(service, "m-1", "model.called", {
        "model": "claude-sonnet-4-5", "provider": "anthropic", "tokens": {"in": 900, "out": 120}, "cost_micro_usd": 14_000, "duration_ms": 900, "status": "ok",
    })
    return service


def tell(service, name, kind, data):
    event = {"specversion": "1.0", "id": name, "source": "harness/1", "type": kind, "subject": "session/s-worked", "session": "s-worked", "agent": "coder", "data": data}
    service.command("append", given=json.dumps(event) + "\n", token=service.kept_token("agent", "coder"))


def test_an_empty_ledger_has_every_page(viewers, bare):
    viewer = viewers(bare, "admin")
    found = read(viewer, [*every_page(viewer).values(), *(of(bare, part) for part in ("trust/agents", "policy/edit", "policy/what-if", "costs/budgets"))])
    said = {part: found[of(bare, part)] for part in SECTIONS if part != "events"}
    for part, words in {
        "now": "Nothing waits", "approvals": "No call waits", "sessions": "No sessions match", "runs": "No runs match", "calls": "No calls match",
        "trust": "Trust is earned by outcomes", "policy": "every call is denied", "costs": "No budget is set", "evidence": "No data subject was erased",
    }.items():
        assert words in said[part], (part, said[part])


def test_one_event_is_on_its_pages_and_on_no_other(viewers, bare):
    tell(bare, "only", "x.noted", {"text": "the only one"})
    viewer = viewers(bare, "admin")
    found = read(viewer, every_page(viewer).values())
    assert "s-worked" in found[of(bare, "sessions")] and "x.noted" in found[of(bare, "now")]
    session = read(viewer, [of(bare, "sessions/s-worked")]).popitem()[1]
    assert "x.noted" in session and "the only one" in session
    assert "No calls match" in found[of(bare, "calls")]


def test_a_ledger_that_takes_no_events_says_so_on_every_page_and_to_every_act(viewers, service):
    approval = worked(service).ask_for("deploy", {"to": "production"})
    viewer = viewers(service, "admin", "Ada")
    addresses = [*every_page(viewer).values(), of(service, "approvals", approval), of(service, "trust/agents"), of(service, "policy/edit")]
    viewer.open("approvals", approval)
    post(service, "/v1/admin/read-only", {"ledger": "main", "readOnly": True})
    before = service.ask("GET", "/head")["position"]

    # Somebody who has the page open is told when they act, and nothing is lost.
    viewer.page.locator("main").get_by_label("Reason").first.fill("half a reason")
    viewer.press("Reject")
    assert "an operator set this ledger read-only" in viewer.text("[role=alert]")
    assert service.approval(approval)["status"] == "pending"

    for address, words in read(viewer, addresses).items():
        assert "This ledger takes no events (read-only): an operator set this ledger read-only" in words, address

    # Whatever is asked for, it is said that it was not recorded.
    viewer.open("now")
    secret = viewer.form_secret()
    acts = {
        "now/panic/engage": {"reason": "try"}, f"approvals/{approval}/approve": {}, "trust/agents/suspend": {"agent": "coder", "reason": "try"},
        "policy/versions/1/retire": {}, "admin/mode": {"mode": "observe", "note": "try"}, "admin/tokens": {"role": "auditor", "name": "new"},
    }
    for path, fields in acts.items():
        status, page = viewer.send(f"/console/main/{path}", form_secret=secret, **fields)
        assert status == 503 and "read-only" in page and "Not done" in page, (path, status, re.sub("<[^>]*>", " ", page)[-600:])
    recorded = service.ask("GET", f"/events?after={before}")["events"]
    kinds = {stored["event"]["type"] for stored in recorded} - {"ledger.read-only"}
    assert not kinds, "nothing was recorded but that it is read-only, which may take a moment"

    # It ends for the page that stands open too.
    viewer.open("approvals", approval)
    post(service, "/v1/admin/read-only", {"ledger": "main", "readOnly": False})
    # No event tells of it, so the page hears of it when it asks for the ages of what it shows.
    viewer.page.locator("#no-events .notice").wait_for(state="detached", timeout=45_000)
    viewer.press("Approve")
    viewer.page.wait_for_selector("[role=status]:has-text('approved')")


def post(service, path, body):
    """Asks the service itself, as admin."""
    import urllib.request

    headers = {"authorization": f"Bearer {service.admin}", "content-type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(service.url + path, json.dumps(body).encode(), headers, method="POST")).read()


def test_without_read_models_pages_say_what_is_not_known_and_come_back(viewers, service):
    worked(service)
    approval = service.ask_for("deploy", {"to": "production"})
    viewer = viewers(service, "operator", "Ada")
    viewer.errors_are_expected = True
    addresses = {**every_page(viewer), "approval": of(service, "approvals", approval)}
    models = service.folder / "made" / "data" / "ledgers" / "main" / "projections"
    service.stop()
    shutil.rmtree(models)
    models.write_text("in the way")
    service.start()

    viewer.start_session(service.kept_token("operator", "Ada"))
    found = read(viewer, addresses.values())
    for kind in OF_MODELS:
        words = found[addresses[kind]]
        assert "Not known now" in words and "cannot be folded from the log now" in words and "store" in words, (kind, words)
    now = found[addresses["now"]]
    assert "Not known now" in now and re.search(r"calls? waits? for a person", now), now

    # What programs are told is no page.
    for form in ("json", "csv"):
        assert viewer.page.request.get(of(service, f"calls?format={form}")).status == 503

    # What does not rest on read models goes on: calls are judged, and a person answers.
    assert service.decide("lookup", {"q": "again"})["verdict"] == "allow"
    viewer.open("approvals", approval)
    viewer.press("Approve")
    viewer.page.wait_for_selector("[role=status]:has-text('approved')")

    # Once nothing is in the way, the page that stands open has its content by itself.
    viewer.open("calls")
    assert viewer.page.locator("#not-known").count() == 1
    models.unlink()
    viewer.page.locator("#calls tbody tr").first.wait_for(timeout=20_000)
    assert viewer.page.locator("#not-known").count() == 0


def test_where_an_archive_is_away_pages_say_which_events_are_missing(viewers, service):
    worked(service)
    lines = [
        json.dumps({"specversion": "1.0", "id": f"n-{number}", "source": "notes", "type": "x.noted", "subject": "notes", "session": "s-notes", "data": {"n": number}})
        for number in range(ARCHIVED)
    ]
    service.command("append", given="\n".join(lines) + "\n")
    approval = service.ask_for("deploy", {"to": "production"})
    viewer = viewers(service, "operator", "Ada")
    viewer.errors_are_expected = True
    addresses = {**every_page(viewer), "approval": of(service, "approvals", approval)}
    service.stop()
    data = service.folder / "made" / "data"
    service.command("archive", "run", "--now", "--data", data, "--keyring", service.folder / "made" / "keyring")
    away = service.folder / "archives-away"
    shutil.move(data / "archives", away)
    shutil.rmtree(data / "ledgers" / "main" / "projections")
    service.start()

    viewer.start_session(service.kept_token("operator", "Ada"))
    found = read(viewer, addresses.values())
    for kind in OF_MODELS:
        assert "Not known now" in found[addresses[kind]] and "lie in an archive" in found[addresses[kind]], (kind, found[addresses[kind]])
    evidence = found[addresses["evidence"]]
    assert "lie in an archive" in evidence and "Signed tree heads" in evidence, evidence

    # Back in its place, it is read again.
    shutil.move(away, data / "archives")
    viewer.open("calls")
    viewer.page.locator("#calls tbody tr").first.wait_for(timeout=20_000)


def test_every_page_that_is_open_says_that_the_service_is_away_and_that_it_is_back(viewers, service):
    viewer = viewers(service, "operator", "Ada")
    viewer.errors_are_expected = True
    tabs = [viewer.tab(section) for section in SECTIONS]
    service.until(lambda: service.metric("bitacora_http_followers"), "the pages follow")
    service.kill()
    for tab in tabs:
        tab.bring_to_front()
        tab.locator("#connection").wait_for(state="visible")
        assert tab.locator("main h1").is_visible(), "what was there stays"
    service.start()
    for tab in tabs:
        tab.bring_to_front()
        tab.get_by_role("link", name="Sign in again").wait_for()
    viewer.page.bring_to_front()
    viewer.start_session(service.kept_token("operator", "Ada"))
    for tab, section in zip(tabs, SECTIONS, strict=True):
        tab.get_by_role("link", name="Sign in again").click()
        tab.wait_for_url(f"**/console/main/{section}")
        assert "operator" in tab.locator("header .who").inner_text()
