"""The reviewer: agents' calls wait for her, and she says yes or no in seconds, while others do the same."""

import json
import threading

import pytest
from service import Refused

EDIT = {
    "file_path": "/home/ana/project/src/billing/invoice.rs",
    "old_string": "fn total(lines: &[Line]) -> Money {\n    sum(lines)\n}",
    "new_string": "fn total(lines: &[Line], rate: Rate) -> Money {\n    sum(lines) * rate\n}",
}
PROJECT = {"cwd": "/home/ana/project", "session": "morning"}


@pytest.fixture
def ada(governed, viewers):
    return viewers(governed, "operator", "Ada")


def text(viewer, selector="main"):
    return viewer.page.locator(selector).inner_text()


def actor(viewer):
    """The name that her acts are recorded under."""
    return text(viewer, "header .who").split(" · ")[0].strip()


def press(viewer, name, within="main"):
    viewer.page.locator(within).get_by_role("button", name=name, exact=True).click()


def answers(service, approval):
    """How often an approval was answered."""
    stored = service.ask("GET", "/events?type=approval.resolved&limit=1000")["events"]
    return sum(one["event"]["data"]["approval"] == approval for one in stored)


def card(viewer, approval):
    return viewer.page.locator(f"#card-{approval}")


def focus(viewer, approval):
    """Goes through the cards with the keyboard up to this one."""
    for _ in range(60):
        viewer.page.keyboard.press("j")
        if viewer.page.evaluate("document.activeElement.id") == f"card-{approval}":
            return
    raise AssertionError(f"no key leads to the card of {approval}")


def test_a_reviewer_s_morning(service, viewers):
    ada, ben = viewers(service, "operator", "Ada"), viewers(service, "operator", "Ben")

    # She looks at an empty inbox. An agent asks, and the call is there without a reload.
    ada.open("approvals")
    assert "No call waits" in text(ada)
    seen = service.decide("Read", {"file_path": "/home/ana/project/src/billing/invoice.rs"}, **PROJECT)
    service.ask("POST", "/outcome", {"call": seen["call"], "status": "ok"}, service.kept_token("agent", "coder"))
    edit = service.ask_for("Edit", EDIT, **PROJECT)
    shown = card(ada, edit)
    shown.wait_for()

    # All that it takes is on the card: what, by whom, where, why, what it has shown, what came before, and what happens without her.
    for word in ["Edit", "coder", "morning", EDIT["file_path"], "score", "Rule writing", "0 went well", "Breaker closed", "expires in 2"]:
        assert word in shown.inner_text(), word
    shown.locator("pre.diff ins").filter(has_text="rate").first.wait_for()  # The words that differ are marked.
    before = shown.locator("ul.before").inner_text()
    assert "ok" in before and "Read" in before

    # She goes there with the keyboard, and says why not.
    focus(ada, edit)
    ada.page.keyboard.press("r")
    ada.page.keyboard.type("keep the old signature")
    ada.page.keyboard.press("Enter")
    ada.page.get_by_role("status").filter(has_text="rejected").wait_for()
    resolved = service.approval(edit)
    assert (resolved["status"], resolved["resolution"]["note"]) == ("rejected", "keep the old signature")
    assert resolved["resolution"]["by"] == actor(ada)

    # Going back and loading again rejects nothing twice.
    ada.page.go_back()
    ada.page.reload()
    assert answers(service, edit) == 1

    # The next call is right but for one word: she approves it with other arguments, and a slip in the JSON costs nothing.
    wrong = service.ask_for("deploy", {"to": "production", "version": 7}, **PROJECT)
    card(ada, wrong).wait_for()
    focus(ada, wrong)
    ada.page.keyboard.press("e")
    arguments = card(ada, wrong).locator("textarea")
    assert arguments.evaluate("field => field === document.activeElement")
    arguments.fill('{"to":"staging","version":7')
    press(ada, "Approve the edited call", within=f"#card-{wrong}")
    ada.page.get_by_role("alert").filter(has_text="The arguments are no JSON. In line").wait_for()
    assert ada.page.locator("textarea").input_value() == '{"to":"staging","version":7'
    ada.page.locator("textarea").fill('{"to":"staging","version":7}')
    press(ada, "Approve the edited call")
    ada.page.get_by_role("status").filter(has_text="other arguments").wait_for()
    assert service.approval(wrong)["resolution"]["args"] == {"to": "staging", "version": 7}

    # She is writing a reason when Ben approves the same call. Her card says so, and her words stay.
    both = service.ask_for("deploy", {"to": "staging", "version": 8}, **PROJECT)
    card(ada, both).wait_for()
    card(ada, both).get_by_label("Reason").fill("not on a Friday")
    ben.open("approvals")
    press(ben, "Approve", within=f"#card-{both}")
    said = card(ada, both).locator("[data-over]")
    said.wait_for()
    assert "Approved" in said.inner_text() and actor(ben) in said.inner_text()
    assert card(ada, both).get_by_label("Reason").input_value() == "not on a Friday"
    assert card(ada, both).get_by_role("button", name="Reject").is_disabled()

    # It is approved once, and the page tells its whole story.
    ada.open("approvals", both)
    for word in ["Approved", actor(ben), "The story", "asked for", "What an answer holds for"]:
        assert word in text(ada), word


def test_a_late_answer_is_told_who_was_first(governed, viewers, ada):
    approval = governed.ask_for("deploy", {"to": "late"})
    # Without the script, the card cannot tell.
    late = viewers(governed, "operator", "Late", java_script_enabled=False)
    late.open("approvals")
    card(late, approval).get_by_label("Reason").fill("too risky")
    ada.open("approvals", approval)
    press(ada, "Approve")
    ada.page.get_by_role("status").filter(has_text="approved").wait_for()
    press(late, "Reject", within=f"#card-{approval}")
    said = text(late, "#late")
    assert "nothing was done" in said and actor(ada) in said
    assert "too risky" in text(late), "what was typed is there to be copied"
    assert governed.approval(approval)["status"] == "approved"


def test_one_form_sent_twice_answers_once(governed, viewers, ada):
    approval = governed.ask_for("deploy", {"to": "twice"})
    ada.open("approvals", approval)
    card(ada, approval).get_by_role("button", name="Approve", exact=True).dblclick(no_wait_after=True)
    ada.page.wait_for_url("**/approvals?done=*")
    assert answers(governed, approval) == 1


def test_keys_answer_no_card_that_is_not_in_focus(governed, ada):
    governed.ask_for("deploy", {"to": "unseen"})
    ada.open("approvals")
    before = governed.ask("GET", "/events?type=approval.resolved&limit=1000")["events"]
    ada.page.keyboard.press("a")
    ada.page.wait_for_timeout(500)
    assert governed.ask("GET", "/events?type=approval.resolved&limit=1000")["events"] == before


def test_standing_consent_lets_later_calls_run(service, viewers):
    ada = viewers(service, "operator", "Ada")
    asked = {"command": "cargo build --release"}
    approval = service.ask_for("Bash", asked, **PROJECT)
    ada.open("approvals", approval)
    ada.page.get_by_text("Standing consent").click()
    consent = ada.page.locator("details.consent")
    assert "coder" in consent.inner_text() and "cargo build" in consent.inner_text()
    consent.get_by_label("It holds").select_option("an hour")
    press(ada, "Approve, and consent to later ones")
    ada.page.get_by_role("status").filter(has_text="standing consent").wait_for()
    assert service.approval(approval)["status"] == "approved"
    grant = service.ask("GET", "/grants")["grants"][0]
    assert grant["scope"]["session"] == "morning" and grant["scope"]["parts"] == ["cargo build"]
    later = service.decide("Bash", {"command": "cargo build"}, **PROJECT)
    assert (later["verdict"], later["reasonCode"]) == ("allow", "granted")
    elsewhere = service.decide("Bash", {"command": "cargo build"}, cwd="/home/ana/other", session="morning")
    assert elsewhere["verdict"] == "review", "it holds in its own project"


def test_a_call_whose_policy_changed_says_so(service, viewers):
    ada = viewers(service, "operator", "Ada")
    approval = service.ask_for("deploy", {"to": "production"})
    ada.open("approvals")
    card(ada, approval).get_by_label("Reason").fill("half a rea")
    service.command("policy", "publish", "--starter", "--activate")
    banner = card(ada, approval).locator(".notice")
    banner.filter(has_text="The policy changed").wait_for()
    assert card(ada, approval).get_by_label("Reason").input_value() == "half a rea"
    ada.page.reload()
    assert card(ada, approval).get_by_role("button", name="Approve", exact=True).count() == 0
    press(ada, "Withdraw", within=f"#card-{approval}")
    ada.page.get_by_role("status").filter(has_text="withdrawn").wait_for()
    assert service.approval(approval)["status"] == "withdrawn"


def test_a_call_that_nobody_answered_says_so(service, viewers):
    ada = viewers(service, "operator", "Ada")
    policy = json.loads(service.command("policy", "starter"))
    policy["times"] = policy.get("times", {}) | {"approval_s": 4, "approval_end": "deny"}
    service.command("policy", "publish", "-", "--activate", given=json.dumps(policy))
    approval = service.ask_for("Bash", {"command": "cargo build"}, **PROJECT)
    ada.open("approvals")
    assert "denied for as long again" in card(ada, approval).inner_text()
    card(ada, approval).get_by_label("Reason").fill("still thinking")
    card(ada, approval).locator("[data-over]").filter(has_text="Nobody answered in time").wait_for()
    assert card(ada, approval).get_by_label("Reason").input_value() == "still thinking"


def test_a_call_that_is_taken_back_says_so(governed, viewers, ada):
    approval = governed.ask_for("deploy", {"to": "nowhere"})
    ada.open("approvals")
    card(ada, approval).wait_for()
    governed.command("approvals", "withdraw", approval, "--note", "asked by mistake")
    said = card(ada, approval).locator("[data-over]")
    said.wait_for()
    assert "Withdrawn" in said.inner_text() and "asked by mistake" in said.inner_text()
    assert card(ada, approval).get_by_role("button", name="Approve", exact=True).count() == 0


def test_nobody_approves_a_call_of_their_own_or_of_another_role(governed, viewers, ada):
    approval = governed.ask_for("deploy", {"to": "production"}, agent="coder")
    auditor = viewers(governed, "auditor", "Eve")
    auditor.open("approvals", approval)
    assert "may read approvals" in text(auditor) and auditor.page.locator("main form[method=post]").count() == 0


def test_arguments_of_any_size_and_kind_are_shown_as_text(governed, viewers, ada):
    hostile = '<img src=x onerror="document.title=1">\u202egnp.exe\u200b</textarea><script>document.title=2</script>'
    large = governed.ask_for("deploy", {"content": "x" * 200_000})
    strange = governed.ask_for("deploy", {"command": hostile, "url": "javascript:alert(1)", hostile: hostile})
    edit = governed.ask_for("Edit", EDIT | {"new_string": hostile}, **PROJECT)
    ada.open("approvals")
    assert "too many to show here" in card(ada, large).inner_text()
    for approval in (strange, edit):
        ada.open("approvals", approval)
        shown = card(ada, approval)
        assert "U+202E" in shown.inner_text() and "<img src=x" in shown.inner_text()
        assert shown.locator("img, script").count() == 0
        assert ada.page.locator("a[href^=javascript]").count() == 0
        assert "Approval" in ada.page.title()


def test_what_is_not_shown_whole_is_not_approved(governed, ada):
    listed = governed.ask_for("deploy", {"text": "y" * 5_000})
    huge = governed.ask_for("deploy", {"text": "z" * 150_000})
    hugest = governed.ask_for("deploy", {"text": "w" * 300_000})
    ada.open("approvals")
    for approval in (listed, huge, hugest):
        shown = card(ada, approval)
        assert shown.get_by_role("button").all_inner_texts() == ["Reject r"]
        assert shown.locator("[data-key=a], [data-key=e], details.edit, details.consent").count() == 0
    focus(ada, listed)
    ada.page.keyboard.press("a")

    # Where even the page of the approval does not show it whole, it says how to go on, and takes no form of another page either.
    for approval in (huge, hugest):
        ada.open("approvals", approval)
        shown = card(ada, approval)
        assert shown.get_by_role("button").all_inner_texts() == ["Reject r"]
        assert f"approvals approve {approval}" in shown.inner_text() and "read --after" in shown.inner_text()
        for verb, fields in (("approve", {}), ("edit", {"args": "{}"}), ("consent", {"hours": "1"})):
            sent = {"form_secret": ada.form_secret()} | fields
            status, page = ada.send(f"/console/main/approvals/{approval}/{verb}", **sent)
            assert status == 422 and "too long to be shown whole" in page, (verb, status)
        assert governed.approval(approval)["status"] == "pending"

    # The page of the other one shows every character, and takes an answer.
    assert governed.approval(listed)["status"] == "pending"
    ada.open("approvals")
    card(ada, listed).get_by_role("link", name="Read it whole").click()
    ada.page.get_by_text("Show all").click()
    assert card(ada, listed).inner_text().count("y") > 5_000
    press(ada, "Approve")
    ada.page.get_by_role("status").filter(has_text="approved").wait_for()


def test_no_consent_is_given_where_somebody_else_was_faster(governed, viewers, ada):
    grants = lambda: len(governed.ask("GET", "/grants")["grants"])
    other, before = governed.kept_token("operator", "Ben"), grants()

    def consent(approval, number):
        sent = {"form_secret": ada.form_secret(), "act": f"{number:064x}", "hours": "1"}
        return ada.send(f"/console/main/approvals/{approval}/consent", **sent)

    def reject(approval):
        try:
            governed.ask("POST", f"/approvals/{approval}:reject", {"note": "no"}, other)
        except Refused as refusal:
            assert refusal.status == 409

    approvals = [governed.ask_for("deploy", {"to": f"race {number}"}, cwd="/home/ana/race") for number in range(6)]
    ada.open("approvals", approvals[0])
    assert ada.page.locator("details.consent").count() == 1
    reject(approvals[0])
    status, page = consent(approvals[0], 0)
    assert status == 409 and "nothing was done" in page and grants() == before

    # Both at once: there is a consent for each call that was approved, and no other.
    for number, approval in enumerate(approvals[1:], 1):
        rejecting = threading.Thread(target=reject, args=[approval])
        rejecting.start()
        consent(approval, number)
        rejecting.join()
    approved = sum(governed.approval(approval)["status"] == "approved" for approval in approvals)
    assert grants() == before + approved


def test_a_diff_is_there_to_its_end(governed, ada):
    old = "\n".join(f"line {number}" for number in range(200))
    new = old + "\n" + "\n".join(f"row {number}" for number in range(100)) + "\nTHE END"
    approval = governed.ask_for("Edit", {"file_path": "/home/ana/project/a.txt", "old_string": old, "new_string": new}, **PROJECT)
    ada.open("approvals", approval)
    assert card(ada, approval).locator(".what > pre.diff").evaluate("block => block.scrollHeight <= block.clientHeight + 2")
    folded = card(ada, approval).locator(".what details").last
    assert "hidden" in folded.locator("summary").inner_text() and "THE END" in folded.text_content()


def test_look_alikes_and_blanks_are_seen(governed, ada):
    approval = governed.ask_for("deploy", {"command": "\u0441\u0430t  a\u0301", "note": "1.0   2", "n": 7}, session="1 \u00b7 Approved by you", cwd="/home/ana/project")
    ada.open("approvals", approval)
    shown = card(ada, approval)
    assert shown.locator("pre.command .lookalike").get_attribute("title").startswith("U+0441 U+0430")
    assert "U+0301" in shown.locator("pre.command").inner_text()
    assert shown.locator("pre.command").evaluate("block => getComputedStyle(block).unicodeBidi") == "isolate-override"
    assert "1.0   2" in shown.locator(".besides").inner_text()
    assert shown.locator(".head bdi code.name").filter(has_text="Approved by you").count() == 1


def test_a_long_inbox_comes_in_pages(service, viewers):
    ada = viewers(service, "operator", "Ada")
    asked = [service.ask_for("deploy", {"to": f"place {number}"}) for number in range(23)]
    ada.open("approvals")
    cards = ada.page.locator("article.approval")
    assert cards.count() == 20 and "20+ calls wait" in text(ada, "#count")
    ada.page.get_by_role("link", name="Next page").click()
    card(ada, asked[-1]).wait_for()
    assert cards.count() == 3


def test_addresses_show_their_host_and_no_argument_is_left_out(governed, viewers, ada):
    approval = governed.ask_for(
        "deploy", {"url": "https://bank.example@evil.example/login", "wait": False, "headers": {"x": 1}},
    )
    ada.open("approvals", approval)
    assert card(ada, approval).locator(".host strong").inner_text() == "evil.example"
    for word in ["a name stands before the host", "wait", "false", "headers", '{"x": 1}']:
        assert word in card(ada, approval).inner_text(), word
    assert card(ada, approval).locator("a[href*=evil]").count() == 0
