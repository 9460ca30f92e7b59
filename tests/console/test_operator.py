"""The operator at two in the morning: a breaker opens, she stops everything, looks, lets calls run again, and closes the breaker."""


def test_the_operator_stops_everything_looks_and_closes_the_breaker(viewers, service):
    operator = viewers(service, "operator", "Ada")
    operator.open("now")
    assert "0 breakers are open" in operator.text("#waiting")

    # An agent's tool begins to fail, call after call.
    for number in range(8):
        answer = service.decide("wobble", {"try": number}, agent="night-shift")
        if answer["verdict"] != "allow":
            break
        service.outcome(answer["call"], "error", agent="night-shift")
    assert service.events("breaker.opened"), "the breaker has opened"

    # The page that was open says so by itself.
    operator.page.get_by_text("breaker is open").wait_for()
    assert "wobble" in operator.text("#waiting")

    # She stops everything first, and says why.
    operator.page.get_by_text("Stop everything", exact=True).click()
    operator.page.get_by_label("Reason").first.fill("wobble fails; looking")
    operator.press("Stop everything now")
    operator.page.get_by_text("wobble fails; looking").first.wait_for()
    stopped = service.decide("lookup", {"q": 1}, agent="night-shift")
    assert stopped["verdict"] == "deny", "a stop holds for every tool"
    (engaged,) = service.events("panic.engaged")
    assert operator.actor in str(engaged), "her name is on it"

    # She looks: the dimension has the failures.
    operator.page.locator("#waiting .card", has_text="breaker is open").get_by_role("link", name="wobble").click()
    assert "wobble" in operator.text("h1") or "wobble" in operator.text()
    assert operator.page.get_by_text("open", exact=True).first.is_visible()

    # She closes the breaker, with a reason.
    form = operator.page.locator("form:has(button:text-is('Close the breaker'))").first
    if not form.is_visible():
        operator.page.locator("details:has(button:text-is('Close the breaker')) > summary").first.click()
    form.get_by_label("Reason").fill("the disk was full")
    form.get_by_role("button").click()
    operator.page.get_by_text("The breaker is closed.").wait_for()
    assert service.events("breaker.closed")

    # She lets calls run again.
    operator.open("now")
    release = operator.page.locator("form[action$='/panic/release']")
    release.get_by_label("Reason").fill("mended")
    release.get_by_role("button").click()
    operator.page.wait_for_selector("[role=status].notice")
    assert service.events("panic.released")
    assert service.decide("lookup", {"q": 2}, agent="night-shift")["verdict"] == "allow"
