"""Pages that are open: they follow what changes, say when the service is away, and do nothing twice."""

TABS = 10


def followers(service):
    """The streams of changes that browsers have open."""
    return service.metric("bitacora_http_followers")


def test_ten_tabs_share_one_stream(viewers, service):
    viewer = viewers(service, "operator")
    for _ in range(TABS - 1):
        viewer.tab("approvals")
    service.until(lambda: followers(service), "a tab follows")
    service.ask_for("deploy", {"to": "all tabs"})
    for tab in viewer.context.pages:
        if tab.url.endswith("/approvals"):
            tab.bring_to_front()
            tab.get_by_text("all tabs").first.wait_for()
    assert followers(service) == 1
    for tab in viewer.context.pages:
        tab.goto("about:blank")
    # The service notices when it next has something to tell.
    service.decide("lookup", {"q": 1})
    service.until(lambda: not followers(service), "a stream that nobody follows ends")


def test_the_service_goes_away_and_comes_back(viewers, service):
    viewer = viewers(service, "operator")
    viewer.errors_are_expected = True
    viewer.open("approvals")
    service.until(lambda: followers(service), "the page follows")
    service.kill()
    viewer.page.locator("#connection").wait_for(state="visible")
    service.start()
    ended = viewer.page.get_by_role("link", name="Sign in again")
    ended.wait_for()
    ended.click()
    viewer.page.get_by_label("Token").fill(service.kept_token("operator"))
    viewer.press("Sign in")
    viewer.page.wait_for_selector("h1:text-is('Approvals')")
    service.ask_for("deploy", {"to": "later"})
    viewer.page.get_by_text("later").first.wait_for()


def test_a_form_that_is_sent_twice_acts_once(viewers, service):
    approval = service.ask_for("deploy", {"to": "once"})
    viewer = viewers(service, "operator")
    viewer.open("approvals", approval)
    form = viewer.page.locator("form:has(button:text-is('Approve'))").first
    fields = dict(form.locator("input[type=hidden]").evaluate_all("all => all.map(one => [one.name, one.value])"))
    path = form.get_attribute("action")
    first = viewer.send(path, **fields)
    second = viewer.send(path, **fields)
    assert first[0] == 200
    assert "sent before" in second[1] or "already" in second[1]
    assert len(service.events("approval.resolved")) == 1


def test_back_and_reload_after_an_act_do_nothing_again(viewers, service):
    approval = service.ask_for("deploy", {"to": "once"})
    viewer = viewers(service, "operator")
    viewer.open("approvals", approval)
    viewer.press("Approve")
    viewer.page.wait_for_selector(".notice")
    viewer.page.reload()
    viewer.page.go_back()
    viewer.page.reload()
    assert len(service.events("approval.resolved")) == 1


def test_the_stream_of_a_token_that_is_revoked_ends(viewers, service):
    viewer = viewers(service, "operator", "Leaver")
    viewer.errors_are_expected = True
    viewer.open("approvals")
    service.until(lambda: followers(service), "the page follows")
    service.revoke(viewer.actor)
    viewer.page.get_by_role("link", name="Sign in again").wait_for()
    service.until(lambda: not followers(service), "the stream ends")


def test_an_open_page_says_that_everything_is_stopped_and_that_it_is_not_any_more(viewers, service):
    viewer = viewers(service, "auditor")
    viewer.open("costs")
    service.until(lambda: followers(service), "the page follows")
    service.ask("POST", "/panic", {"reason": "a look at the logs"})
    viewer.page.get_by_text("Everything is stopped.").wait_for()
    assert "a look at the logs" in viewer.text("#stopped")
    service.ask("DELETE", "/panic", {"reason": "seen"})
    viewer.page.get_by_text("Everything is stopped.").wait_for(state="detached")
