"""Sessions, runs, calls and events: what nobody should ask, and what agents should not have written."""

import csv
import io
import json

import pytest

HOSTILE = "<img src=x onerror=alert(1)>\u202egnp.exe"


@pytest.mark.parametrize("path", ["sessions/nobody", "runs/nobody", "calls/nobody", "calls/nobody?at=7", "events/99999999", "events/18446744073709551615"])
def test_an_unknown_thing_is_not_found_and_the_page_says_so(viewers, demo, path):
    viewer = viewers(demo, "admin")
    answer = viewer.open(path)
    assert answer.status == 404
    said = viewer.text("[role=alert]")
    assert "is recorded" in said or "past the head" in said
    assert viewer.page.locator("main a").count() == 1, "the page leads back"


@pytest.mark.parametrize("path", ["events/0", "events/-1", "events/x", "events/%00", "events?after=x", "calls?since=yesterday", "calls?zone=Mars/Olympus",
                                  "calls?since=2026-11-27T09:00&before=2026-11-27T08:00", "calls?verdict=maybe", "sessions?state=asleep", "runs?state=asleep"])
def test_what_cannot_be_asked_is_refused_in_words(viewers, demo, path):
    viewer = viewers(demo, "admin")
    answer = viewer.open(path)
    assert answer.status == 400
    assert len(viewer.text("[role=alert]")) > 10


def test_filters_that_match_nothing_say_how_many_lie_elsewhere(viewers, demo):
    viewer = viewers(demo, "admin")
    viewer.open("calls", query="?since=2001-01-01T00:00&before=2001-01-02T00:00")
    count = sum(1 for _ in rows(viewer, "calls"))
    assert f"{count:,} calls match at other times" in viewer.text("#calls")
    viewer.page.get_by_role("link", name="Show all times").click()
    assert viewer.page.locator("#calls tbody tr").count() == 100
    viewer.open("calls", query="?tool=no-such-tool")
    assert "No calls match tool no-such-tool" in viewer.text("#calls")


def rows(viewer, path, query=""):
    joint = "&" if query else "?"
    text = viewer.page.request.get(f"/console/main/{path}{query}{joint}format=csv").text()
    return csv.DictReader(io.StringIO(text, newline=""))


def test_pages_and_the_file_have_each_call_once(viewers, demo):
    viewer = viewers(demo, "admin")
    filed = [line["Event"] for line in rows(viewer, "calls", "?verdict=deny")]
    assert len(filed) == len(set(filed)) > 0
    viewer.open("calls", query="?verdict=deny")
    seen = []
    while True:
        seen += [text[1:] for text in viewer.page.locator("#calls tbody td:last-child a").all_inner_texts()]
        following = viewer.page.get_by_role("link", name="Next page")
        if following.count() == 0:
            break
        following.click()
    assert seen == filed


@pytest.mark.parametrize("reason", ["arguments-invalid", "score-too-low"])
def test_calls_are_found_by_the_reason_of_their_decision(viewers, demo, reason):
    viewer = viewers(demo, "admin")
    every = [line for line in rows(viewer, "calls") if line["Reason"] == reason]
    assert every == list(rows(viewer, "calls", f"?reason={reason}")) and every


def test_times_are_typed_and_shown_in_the_viewer_s_zone(viewers, demo):
    viewer = viewers(demo, "admin")
    viewer.open("calls")
    viewer.page.get_by_label("Times in").fill("Europe/Berlin")
    viewer.press("Set", within="footer")
    viewer.page.get_by_label("Since").fill("2026-03-29T02:30:00")
    viewer.press("Show")
    assert "2026-03-29T02:30 never comes in Europe/Berlin" in viewer.text().replace("02:30:00", "02:30")
    assert viewer.page.get_by_label("Since").input_value().startswith("2026-03-29T03:00")
    viewer.open("calls", query="?before=2026-10-25T02:30&zone=Europe/Berlin")
    assert "comes twice" in viewer.text()
    # The same address, read by a colleague elsewhere, is about the same time.
    colleague = viewers(demo, "admin")
    colleague.open("calls", query="?since=2026-07-01T08:00&zone=Europe/Berlin")
    assert colleague.page.get_by_label("Since").input_value().startswith("2026-07-01T06:00")


def test_hostile_names_and_arguments_are_shown_as_text(viewers, governed):
    answer = governed.decide("lookup", {"note": HOSTILE, "=cmd": "=1+1"}, call=f"c/{HOSTILE}", session=f"s/{HOSTILE}", agent="coder")
    viewer = viewers(governed, "auditor", "Lin")
    viewer.open("calls")
    viewer.page.locator("#calls tbody a", has_text="c/<img").first.click()
    assert viewer.page.locator("main img").count() == 0
    assert "U+202E" in viewer.text() and "<img src=x" in viewer.text()
    viewer.page.locator("#call a[href*='/sessions/']").click()
    assert "U+202E" in viewer.text("h1") and viewer.page.locator("#events li").count() >= 2
    viewer.open("events", answer["position"])
    assert viewer.page.locator("main img").count() == 0


def test_large_contents_are_folded(viewers, governed):
    large = "x" * 900_000
    answer = governed.decide("lookup", {"note": large}, call="large", session="s-large")
    viewer = viewers(governed, "auditor", "Lin")
    for parts in (("calls", "large"), ("sessions", "s-large"), ("events", str(int(answer["position"]) - 1))):
        assert viewer.open(*parts).status == 200
        assert len(viewer.page.content()) < 400_000, parts


def test_erased_contents_are_said_to_be_erased(viewers, service):
    event = {
        "specversion": "1.0", "id": "e1", "source": "me", "type": "x.note", "subject": "session/s-erased", "session": "s-erased",
        "datasubject": "person-7", "data": {"name": "Jane Roe"},
    }
    service.command("append", given=json.dumps(event) + "\n")
    position = json.loads(service.command("read", "--session", "s-erased", "--json").splitlines()[0])["position"]
    viewer = viewers(service, "admin")
    viewer.open("events", position)
    assert "Jane Roe" in viewer.text()
    # Erasing takes the subject's key away.
    service.stop()
    for file in (service.folder / "made" / "data" / "ledgers" / "main" / "subjects").rglob("*"):
        if file.is_file():
            file.unlink()
    service.start()
    viewer.sign_in(service.admin, to=f"/console/main/events/{position}")
    assert "Jane Roe" not in viewer.page.content() and "erased" in viewer.text()
    assert "Proof that it is in the log" in viewer.text(), "the event stays, and so does its proof"
    viewer.open("sessions", "s-erased")
    assert "erased" in viewer.text("#events")
