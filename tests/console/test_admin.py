"""Who may, and with what: tokens, modes and tools, as an admin sets them in the browser."""

import json
import urllib.error
import urllib.request


def works(service, token):
    request = urllib.request.Request(f"{service.url}/v1/ledgers/main/caller", headers={"authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        assert refusal.code == 401
        return None


def test_a_token_is_shown_once_and_works_until_it_is_revoked(service, viewers):
    admin = viewers(service, "admin")
    page = admin.page
    admin.open("admin")
    form = page.locator("#tokens form.fields")
    form.locator("[name=role]").select_option("agent")
    form.locator("[name=agent]").fill("builder")
    form.locator("[name=name]").fill("the build machine")
    form.get_by_role("button", name="Create a token").click()
    token = page.locator("#token").inner_text()
    assert token.startswith("bt_") and len(token) == 46
    caller = works(service, token)
    assert caller["agent"] == "builder" and caller["role"] == "agent"
    assert token not in service.log() and token not in page.url

    # Sending the same form again makes no other token, and shows none.
    page.reload()
    assert token not in page.content() and "sent before" in admin.text("[role=alert]")
    created = [stored["event"] for stored in service.ask("GET", "/events?type=principal.created")["events"]]
    assert sum(event["data"].get("name") == "the build machine" for event in created) == 1
    assert token not in json.dumps(created)
    admin.open("admin")
    assert token not in page.content()

    # Revoked, it is taken no more.
    row = page.locator("#tokens tr", has_text="the build machine")
    row.get_by_text("Revoke", exact=True).first.click()
    row.locator("[name=note]").fill("the machine is gone")
    row.get_by_role("button", name="Revoke the build machine").click()
    page.wait_for_selector("[role=status]:has-text('is revoked')")
    assert works(service, token) is None
    assert "revoked" in page.locator("#tokens tr", has_text="the build machine").inner_text()


def test_the_first_end_of_a_mistake_is_a_clear_word(service, viewers):
    admin = viewers(service, "admin")
    for fields, words in [
        ({"role": "agent"}, "Name an agent"),
        ({"role": "auditor", "agent": "x"}, "for no other role"),
        ({"role": "root"}, "Choose one of the roles"),
        ({"role": "auditor", "days": "x"}, "number of days"),
    ]:
        admin.open("admin")
        secret = admin.form_secret()
        status, text = admin.send("/console/main/admin/tokens", form_secret=secret, **fields)
        assert status == 400 and words in text, fields


def test_a_mode_is_set_with_its_scope_and_reason(service, viewers):
    operator = viewers(service, "operator", "Ada")
    operator.open("admin")
    form = operator.page.locator("#mode form")
    form.locator("[name=mode]").select_option("observe")
    form.locator("[name=agent]").fill("tester")
    form.locator("[name=note]").fill("it only tries")
    form.get_by_role("button", name="Set the mode").click()
    operator.page.wait_for_selector("[role=status]:has-text('calls of agent tester is observe')")
    assert service.ask("GET", "/mode")["scopes"] == [{"scope": {"agent": "tester"}, "mode": "observe"}]


def test_a_tool_that_was_seen_is_registered_with_a_risk(service, viewers):
    service.decide("unheard-of", {"a": 1})
    operator = viewers(service, "operator", "Ada")
    operator.open("admin")
    row = operator.page.locator("#tools tr", has_text="unheard-of")
    row.get_by_text("Register as seen").click()
    row.get_by_label("read").check()
    row.get_by_role("button", name="Register", exact=True).click()
    operator.page.wait_for_selector("[role=status]:has-text('unheard-of is registered')")
    registered = [json.loads(json.dumps(tool["document"])) for tool in service.ask("GET", "/tools")["tools"]]
    assert any(tool["tool"] == "unheard-of" and tool["risk"] == "read" for tool in registered)


def test_read_only_takes_the_ledger_s_name_and_an_admin(service, viewers):
    operator = viewers(service, "operator", "Ada")
    operator.open("admin")
    assert operator.page.locator("#service form, #tokens form").count() == 0
    secret = operator.form_secret()
    for path in ("tokens", "read-only", "seal", "tokens/p-1/revoke"):
        status, text = operator.send(f"/console/main/admin/{path}", form_secret=secret, read_only="yes", confirm="main")
        assert status == 403 and "admin" in text, path

    admin = viewers(service, "admin")
    admin.open("admin")
    admin.page.locator("#service [name=confirm]").fill("mine")
    admin.press("Make it read-only", within="#service")
    assert "type the ledger's name" in admin.text("[role=alert]")
    admin.open("admin")
    admin.page.locator("#service [name=confirm]").fill("main")
    admin.press("Make it read-only", within="#service")
    admin.page.wait_for_selector("#service .badge:text-is('read-only')")
    admin.press("Take events again", within="#service")
    admin.page.wait_for_selector("#service .badge:text-is('ready')")
