"""Now: whether all is right, and the stop of everything."""


def text(viewer, selector="main"):
    return viewer.page.locator(selector).inner_text()


def test_everything_is_stopped_and_let_go_with_a_reason(service, viewers):
    ada = viewers(service, "operator", "Ada")
    ada.open("now")
    ada.page.get_by_text("Stop everything", exact=True).click()
    ada.page.locator("#stops").get_by_label("Reason").fill("something <is> wrong")
    ada.page.get_by_role("button", name="Stop everything now").click()
    ada.page.get_by_role("alert").filter(has_text="Everything is stopped").wait_for()
    assert "something <is> wrong" in text(ada, "#stops")
    assert service.decide("lookup")["reasonCode"] == "panic"

    # A person who only reads sees that it is so, and cannot end it.
    eve = viewers(service, "auditor", "Eve")
    eve.open("now")
    assert "Everything is stopped" in text(eve, "#stops") and eve.page.locator("main form[method=post]").count() == 0

    ada.page.locator("#stops").get_by_label("Reason").fill("looked at")
    ada.page.get_by_role("button", name="Let calls run again").click()
    ada.page.get_by_role("status").filter(has_text="Calls may run again").wait_for()
    assert service.decide("lookup")["reasonCode"] != "panic"
    eve.page.locator("#stops .stopped").wait_for(state="detached")


def test_what_happens_is_seen_without_a_reload(service, viewers):
    ada = viewers(service, "operator", "Ada")
    ada.open("now")
    assert "Nothing waits" in text(ada, "#waiting")
    service.ask_for("deploy", {"to": "production"})
    ada.page.locator("#waiting").get_by_text("1 call waits for a person").wait_for()
    ada.page.locator("#tail").get_by_role("link", name="approval.requested").first.wait_for()
    service.command("agents", "suspend", "coder", "--reason", "it goes in circles")
    ada.page.locator("#stops").get_by_text("it goes in circles").wait_for()
    service.command("mode", "observe")
    ada.page.locator("#stops").get_by_text("stops no call").wait_for()


def test_the_ledger_s_health_is_told(service, viewers):
    ada = viewers(service, "operator", "Ada")
    assert service.decide("drop")["verdict"] == "deny"
    ada.open("now")
    health = text(ada, "#health")
    for word in ["ready", "all up to date", "none: the record of every call is complete", "Signed tree head"]:
        assert word in health, word
    assert "1 denied" in text(ada, "#decisions")
    assert ada.page.locator("#decisions svg").count() > 0
