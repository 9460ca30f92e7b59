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

    eve.errors_are_expected = True
    assert eve.open("nowhere").status == 404 and "Everything is stopped" in eve.text()
    eve.open("now")

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


def test_it_says_of_which_minutes_its_decisions_are_and_gives_its_parts(demo, viewers):
    import json

    viewer = viewers(demo, "auditor")
    viewer.open("now")
    counted = int(viewer.text("#decisions h2").removeprefix("Decisions of the last 60 minutes: ").replace(",", ""))
    told = [int(word) for word in viewer.text("#decisions .note").replace(",", "").split() if word.isdigit()]
    assert counted == sum(told[:3])
    assert "no imported call" in viewer.text("#decisions")
    parts = viewer.page.locator("footer .same-data a")
    assert parts.count() >= 9
    for at in range(parts.count()):
        answer = viewer.page.request.get(parts.nth(at).get_attribute("href"))
        assert answer.status == 200 and isinstance(json.loads(answer.text()), dict), parts.nth(at).inner_text()
    assert viewer.page.request.get("/console/main/now?format=json&part=keys").status == 404
    viewer.page.locator("#decisions").get_by_role("link", name="all calls").click()
    assert viewer.text("h1") == "Calls" and viewer.page.locator("[data-item]").count() > 0


def test_the_page_of_an_unknown_ledger_leads_to_those_that_are_there(governed, viewers):
    viewer = viewers(governed, "auditor")
    for name in ("nowhere", "No%20ledger%20has%20this%20name", "%3Cb%3E"):
        answer = viewer.page.goto(f"/console/{name}/calls")
        assert answer.status == 404 and "There is no ledger" in viewer.text("[role=alert]")
        viewer.page.get_by_role("link", name="main", exact=True).click()
        assert viewer.path == "/console/main/now"
    stranger = viewers(governed)
    assert stranger.page.goto("/console/nowhere/calls").status == 401 and stranger.page.get_by_label("Token").is_visible()


def test_commands_name_the_service_that_the_browser_asked(governed, viewers):
    viewer = viewers(governed)
    viewer.page.goto("/console/sign-in")
    assert f"bitacora --url {governed.url} console" in viewer.text()
    viewer = viewers(governed, "operator")
    for page in ("now", "calls", "policy", "costs", "trust"):
        viewer.open(page)
        command = viewer.text("#command")
        assert command.startswith(f"bitacora --url {governed.url} ")
        governed.command(*command.split()[1:])
