"""Every page for people with a keyboard alone, a screen reader, a phone, another theme, without scripts, and on paper."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from pages import every_page
from viewer import NARROW

SERIOUS = ("serious", "critical")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(viewers, demo, theme):
    # axe-core is put into the page by the test, which the pages' policy forbids.
    viewer = viewers(demo, "admin", color_scheme=theme, bypass_csp=True)
    viewer.errors_are_expected = True
    found = []
    for address in [*every_page(viewer).values(), "/console/sign-in"]:
        answer = viewer.page.goto(address)
        if "text/html" not in answer.headers["content-type"]:
            continue
        for violation in Axe().run(viewer.page).response["violations"]:
            if violation["impact"] in SERIOUS:
                places = [node["html"][:160] + " " + str(node["any"][:1])[:300] for node in violation["nodes"][:3]]
                found.append((address.split("/console")[1], violation["id"], places))
    assert not found, "\n".join(map(str, found))


def test_no_page_is_wider_than_a_phone(viewers, demo):
    viewer = viewers(demo, "admin", viewport=NARROW)
    wide = {}
    for address in every_page(viewer).values():
        viewer.page.goto(address)
        width = viewer.page.evaluate("document.documentElement.scrollWidth")
        if width > NARROW["width"]:
            wide[address] = width
    assert not wide


def test_every_page_works_without_scripts(viewers, service):
    approval = service.ask_for("deploy", {"to": "production"})
    viewer = viewers(service, java_script_enabled=False)
    viewer.page.goto("/console")
    viewer.page.get_by_label("Token").fill(service.admin)
    viewer.press("Sign in")
    for section in ("now", "approvals", "sessions", "runs", "calls", "trust", "policy", "costs", "evidence", "admin"):
        answer = viewer.open(section)
        assert answer.status == 200
        assert viewer.page.locator("#connection").is_hidden()
    viewer.open("approvals", approval)
    viewer.press("Approve")
    assert service.approval(approval)["status"] == "approved"


def test_a_reviewer_needs_no_mouse(viewers, service):
    approval = service.ask_for("deploy", {"to": "production"})
    viewer = viewers(service)
    viewer.page.goto("/console/main/approvals")
    viewer.page.keyboard.insert_text(service.kept_token("operator"))
    viewer.page.keyboard.press("Enter")
    viewer.page.wait_for_selector("[data-item]")
    viewer.page.keyboard.press("Tab")
    assert viewer.page.evaluate("document.activeElement.textContent") == "Skip to the content"
    viewer.page.keyboard.press("j")
    viewer.page.keyboard.press("a")
    viewer.page.wait_for_selector(".notice")
    assert service.approval(approval)["status"] == "approved"


def test_a_printed_page_has_the_content_and_no_menu(viewers, demo):
    viewer = viewers(demo, "admin")
    viewer.open("calls")
    viewer.page.emulate_media(media="print")
    assert viewer.page.locator("header nav").is_hidden()
    assert viewer.page.locator("main table").first.is_visible()
    assert viewer.page.pdf().startswith(b"%PDF")
