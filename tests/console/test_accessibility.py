"""Every page for people with a keyboard alone, a screen reader, a phone, another theme, without scripts, and on paper."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from pages import every_page
from viewer import NARROW

SERIOUS = ("serious", "critical")
PARTS = 4


# Rows of a list are alike, so axe looks at the first ones, and at what is folded. Only colours differ between the themes.
LOOKED_AT_ROWS = 12
FEW_ROWS = 4
STEPS = 4
SHORTEN = """rows => {
    document.querySelectorAll("tbody, ul, ol").forEach(list => [...list.children].slice(rows).forEach(row => row.remove()));
    document.querySelectorAll("details").forEach(fold => { fold.open = true; });
}"""
RULES_OF_THEMES = {"light": {}, "dark": {"runOnly": ["color-contrast", "link-in-text-block"]}}


def serious_findings(page):
    """What axe finds serious on a page that is open, in either theme."""
    page.evaluate(SHORTEN, LOOKED_AT_ROWS)
    found = []
    for theme, rules in RULES_OF_THEMES.items():
        page.emulate_media(color_scheme=theme)
        for violation in Axe().run(page, options={"resultTypes": ["violations"]} | rules).response["violations"]:
            if violation["impact"] in SERIOUS:
                places = [node["html"][:160] + " " + str(node["any"][:1])[:300] for node in violation["nodes"][:3]]
                found.append((page.url.split("/console")[1], theme, violation["id"], places))
    return found


# Workers share the pages out.
@pytest.mark.parametrize("part", range(PARTS))
def test_axe_finds_nothing_serious_in_either_theme(viewers, demo, part):
    # axe-core is put into the page by the test, which the pages' policy forbids.
    viewer = viewers(demo, "admin", bypass_csp=True)
    viewer.errors_are_expected = True
    found = []
    for address in [*every_page(viewer).values(), "/console/sign-in"][part::PARTS]:
        if "text/html" in viewer.page.goto(address).headers["content-type"]:
            found += serious_findings(viewer.page)
    assert not found, "\n".join(map(str, found))


def test_axe_finds_nothing_serious_in_what_forms_come_to(viewers, demo):
    viewer = viewers(demo, "admin", bypass_csp=True)
    viewer.errors_are_expected = True
    # What another policy would have done.
    viewer.open("policy", "edit")
    viewer.press("Try it on the history")
    viewer.page.locator("#what-if").wait_for()
    found = serious_findings(viewer.page)
    # A fault in what was written.
    viewer.open("policy", "edit")
    viewer.page.get_by_label("The policy, as JSON").evaluate("field => { field.value = '{'; }")
    viewer.press("Publish")
    viewer.page.locator("main [role=alert]").wait_for()
    found += serious_findings(viewer.page)
    # What is not there, and what no filter lets through.
    for address in ("calls/nobody", "calls?since=yesterday", "sessions?agent=nobody"):
        viewer.open(address)
        found += serious_findings(viewer.page)
    assert not found, "\n".join(map(str, found))


# What a person acts with: all of it is reached by the tab key. Of a group of choices, one is.
ACTING = "a[href], button:enabled, input:enabled:not([type=hidden], [type=radio]), select:enabled, textarea:enabled, summary"
TO_REACH = f"""() => {{
    const all = [...document.querySelectorAll("*")];
    return [...document.querySelectorAll("{ACTING}")].filter(one => one.checkVisibility()).map(one => all.indexOf(one));
}}"""
IN_FOCUS = """() => {
    const one = document.activeElement;
    if (!one || one === document.body || one === document.documentElement) return null;
    const style = getComputedStyle(one), box = one.getBoundingClientRect();
    return {
        place: [...document.querySelectorAll("*")].indexOf(one), html: one.outerHTML.slice(0, 200),
        is_marked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none",
        is_seen: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
    };
}"""


@pytest.mark.parametrize("part", range(PARTS))
def test_the_tab_key_reaches_everything_in_its_order_and_shows_where_it_is(viewers, demo, part):
    viewer = viewers(demo, "admin")
    page = viewer.page
    for address in list(every_page(viewer).values())[part::PARTS]:
        if "text/html" not in page.goto(address).headers["content-type"]:
            continue
        page.evaluate(SHORTEN, FEW_ROWS)
        to_reach, reached = page.evaluate(TO_REACH), []
        # A field of a date takes several steps.
        for _ in range(STEPS * len(to_reach)):
            page.keyboard.press("Tab")
            focus = page.evaluate(IN_FOCUS)
            if focus is None or reached and focus["place"] < reached[-1]:
                break
            assert focus["is_marked"], f"focus is not seen at {address}: {focus['html']}"
            assert focus["is_seen"], f"what has focus is not in sight at {address}: {focus['html']}"
            reached.append(focus["place"])
        missed = [place for place in to_reach if place not in reached]
        names = page.evaluate("places => places.map(place => document.querySelectorAll('*')[place].outerHTML.slice(0, 200))", missed)
        assert not missed, f"the tab key does not reach, at {address}: {names}"


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
