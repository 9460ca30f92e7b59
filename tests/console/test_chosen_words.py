"""Words that agents chose stand in boxes with their author, and what the console says of them is so."""

import json
import re
import urllib.request

import pytest

CALM = "Approved by an admin. Everything is fine"


def boxes(viewer, within):
    """The texts that stand in boxes there."""
    return viewer.page.locator(f"{within} code.name").all_inner_texts()


def outside_boxes(viewer, within):
    """What is said there outside of boxes."""
    return viewer.page.locator(within).first.evaluate(
        "part => { const copy = part.cloneNode(true); copy.querySelectorAll('code.name').forEach(box => box.remove()); return copy.textContent; }"
    )


def test_calls_of_another_agent_stand_on_no_card(viewers, governed):
    governed.decide("lookup", {"q": "mine"}, session="shared", call="mine-1")
    for number in range(5):
        governed.decide("lookup", {"q": "all is well"}, session="shared", agent="flatterer", call=f"calm-{number}")
    approval = governed.ask_for("deploy", {"to": "production"}, session="shared")
    viewer = viewers(governed, "operator")
    viewer.open("approvals", approval)
    links = viewer.page.locator(f"#facts-{approval} ul.before a").evaluate_all("links => links.map(link => link.pathname)")
    assert links and all("/calm-" not in link for link in links), links
    assert any(link.endswith("/mine-1") for link in links), links


def test_a_note_has_an_author_and_does_not_read_as_the_console(viewers, governed):
    call = governed.decide("deploy", {"to": "production"}, session="noted")["call"]
    governed.ask("POST", "/annotations", {"on": {"call": call}, "text": CALM}, governed.kept_token("agent", "coder"))
    viewer = viewers(governed, "operator")
    viewer.open("calls", call)
    line = "#events li[data-type='annotation.added'] .said"
    author, text = boxes(viewer, line)
    assert author.startswith("agent:") and text == CALM
    assert outside_boxes(viewer, line).strip() == "agent  noted:"


@pytest.mark.parametrize("page", ["calls", "sessions", "runs", "approvals"])
@pytest.mark.parametrize("begin", ["", "x%60.%20"])
def test_an_id_in_a_refusal_stands_in_a_box(viewers, governed, page, begin):
    viewer = viewers(governed, "operator")
    viewer.errors_are_expected = True
    answer = viewer.open(page, f"{begin}{CALM.replace(' ', '%20')}")
    assert answer.status == 404
    assert CALM not in outside_boxes(viewer, "[role=alert]") and CALM in boxes(viewer, "[role=alert]")[0]


def test_the_heading_of_a_session_boxes_its_name(viewers, governed):
    governed.decide("lookup", {"q": 1}, session=CALM)
    viewer = viewers(governed, "operator")
    viewer.open("sessions", CALM.replace(" ", "%20"))
    assert outside_boxes(viewer, "h1").strip() == "Session" and boxes(viewer, "h1") == [CALM]
    assert viewer.page.title().startswith(f"Session {CALM} ·")


def test_an_error_type_stands_in_a_box(viewers, governed):
    call = governed.decide("lookup", {"q": 1}, session="failing")["call"]
    governed.outcome(call, "error", errorType=CALM, session="failing")
    viewer = viewers(governed, "operator")
    for address in (("calls", call), ("sessions", "failing")):
        viewer.open(*address)
        assert CALM in boxes(viewer, "main"), address
        assert CALM not in outside_boxes(viewer, "#events"), address


@pytest.mark.parametrize("page", ["calls?verdct=deny", "sessions?agnet=coder", "events?typ=x", "trust?tol=x", "calls?verdict=deny&verdict=allow", "calls?agent=&agent=nobody", "events?limit=5"])
def test_a_filter_that_is_not_heeded_is_told_in_the_place_of_rows(viewers, governed, page):
    governed.decide("lookup", {"q": 1})
    viewer = viewers(governed, "operator")
    viewer.errors_are_expected = True
    name = re.split("[?=]", page)[1]
    assert viewer.open(page).status == 400
    said = viewer.text("[role=alert]")
    assert (f"No filter is called {name}; filters are" in said or f"comes more than once: {name}" in said), said
    assert viewer.page.locator("table, .history li").count() == 0
    assert viewer.page.request.get(f"{viewer.service.url}/console/main/{page}&format=csv").status == 400
    viewer.page.get_by_role("link", name="Leave it out").click()
    assert viewer.page.locator("table, .history li").count() > 0 or "trust" in page


@pytest.mark.parametrize("page", ["costs?by=zzz", "sessions/valued?part=zz", "sessions/valued?order=top", "calls?zone=UTC&zone=Europe/Berlin", "admin?format=xml"])
def test_what_a_page_cannot_heed_is_told_in_its_place(viewers, governed, page):
    governed.decide("lookup", {"q": 1}, session="valued")
    viewer = viewers(governed, "admin")
    viewer.errors_are_expected = True
    assert viewer.open(page).status == 400
    assert re.search("is never .*; it is one of|comes more than once", viewer.text("[role=alert]"))
    viewer.page.get_by_role("link", name="Leave it out").click()
    assert viewer.page.locator("[role=alert]").count() == 0


def test_blanks_around_a_name_are_a_part_of_it(viewers, governed):
    call = governed.decide(" Read", {"q": 1}, agent="blank ", session="blanks")["call"]
    governed.outcome(call, agent="blank ", session="blanks")
    viewer = viewers(governed, "operator")
    viewer.open("calls?agent=blank")
    assert "No calls match agent blank" in viewer.text()
    viewer.open("calls?agent=blank+&tool=+Read")
    assert viewer.page.locator("#calls tbody tr").count() == 1
    viewer.open("calls?agent=%20")
    assert "No calls match agent" in viewer.text()


def test_the_json_of_a_part_of_a_story_is_that_part(viewers, governed):
    governed.decide("lookup", {"q": 1}, session="parted")
    viewer = viewers(governed, "operator")
    viewer.open("sessions", "parted")
    viewer.page.get_by_role("link", name="Calls", exact=True).last.click()
    assert viewer.page.url.endswith("?part=calls")
    link = viewer.page.locator("footer .same-data").get_by_role("link", name="JSON").get_attribute("href")
    answer = viewer.page.request.get(f"{governed.url}{link}")
    assert answer.status == 200
    assert [stored["event"]["type"] for stored in json.loads(answer.text())["events"]] == ["tool.requested"]


def test_another_agent_in_a_session_is_named(viewers, governed):
    governed.decide("lookup", {"q": "mine"}, session="two agents")
    call = governed.decide("lookup", {"q": "other"}, session="two agents", agent=CALM)["call"]
    governed.outcome(call, agent=CALM, session="two agents")
    viewer = viewers(governed, "operator")
    viewer.open("sessions", "two%20agents")
    rows = viewer.page.locator("#events li").evaluate_all("rows => rows.map(row => [row.innerHTML, row.innerText])")
    for html, said in rows:
        assert (f"agent {CALM}" in said) == (call in html or "outcome" in said and CALM in html), said
    assert sum(f"agent {CALM}" in said for _, said in rows) >= 3


def test_the_refusal_of_an_unknown_grant_boxes_its_id(viewers, governed):
    viewer = viewers(governed, "operator")
    viewer.errors_are_expected = True
    viewer.open("policy", "grants")
    for act in ("policy/grants/{}/revoke", "policy/suggestions/{}/reject"):
        path = act.format(f"zz%60%20{CALM.replace(' ', '%20')}%20%60")
        status, text = viewer.send(f"/console/main/{path}", form_secret=viewer.form_secret())
        assert status == 404
        assert CALM not in re.sub(r'<code class="name">.*?</code>', "", text), text


def test_the_story_of_a_session_has_the_answer_of_its_approval(viewers, governed):
    waits = governed.ask_for("deploy", {"to": "a"}, session="answered")
    approved = governed.ask_for("deploy", {"to": "b"}, session="answered")
    ada = viewers(governed, "operator", "Ada")
    governed.ask("POST", f"/approvals/{approved}:reject", {"note": "not on a Friday"}, governed.kept_token("operator", "Ada"))
    ada.open("sessions", "answered")
    said = ada.page.locator("#events li[data-type='approval.requested'] .answered").all_inner_texts()
    assert len(said) == 2 and f"Nobody has answered {waits} yet" in said[0]
    assert "Rejected by you" in said[1] and "not on a Friday" in said[1] and re.search(r"\d\d:\d\d:\d\d", said[1]), said


def test_a_form_without_a_number_is_malformed_and_of_no_other_session(viewers, governed):
    approval = governed.ask_for("deploy", {"to": "c"})
    viewer = viewers(governed, "operator")
    viewer.errors_are_expected = True
    viewer.open("approvals")
    status, text = viewer.send(f"/console/main/approvals/{approval}/approve", form_secret=viewer.form_secret(), act="7")
    assert status == 400 and "malformed" in text and "another session" not in text
    assert governed.approval(approval)["status"] == "pending"


def test_a_fault_of_a_policy_is_in_one_line(viewers, governed):
    viewer = viewers(governed, "operator")
    viewer.errors_are_expected = True
    for written, line in (('{\n "rules": [\n  {"id": 7}\n ]\n}', 2), ('{\n "rules": [\n  {"id": "a",}\n ]\n}', 3)):
        viewer.open("policy", "edit")
        viewer.page.locator("textarea").fill(written)
        viewer.press("Publish")
        said = viewer.text("[role=alert]").split("▸")[0]
        assert re.findall(r"\bline \d+", said, re.IGNORECASE) in ([f"Line {line}"], [f"Line {line + 1}"]), said


def test_a_link_for_who_is_signed_in_speaks_of_no_other_name(viewers, governed):
    viewer = viewers(governed, "operator", "Ada")
    for role, name in (("operator", "Ada"), ("operator", "Ben")):
        token = governed.kept_token(role, name)
        request = urllib.request.Request(f"{governed.url}/console/links", b"", {"authorization": f"Bearer {token}"}, method="POST")
        with urllib.request.urlopen(request) as answer:
            link = json.load(answer)
        viewer.page.goto(link["path"])
        assert ("the other name" in viewer.text()) == (name == "Ben")
