"""Trust, policy and costs: what was shown so far, what another policy would do, what it cost."""

import json
import re

import pytest


@pytest.fixture
def trusted(service):
    """A service whose tool `lookup` runs without a person."""
    service.command("trust", "set", "--tool", "lookup", "--approvals", "400", "--streak", "400", "--reason", "a test")
    return service


def write(viewer, policy):
    """Puts a text into the field of the policy. It is too long to be typed key by key."""
    field = viewer.page.get_by_label("The policy, as JSON")
    field.evaluate("(field, text) => { field.value = text; }", policy)
    return field


def write_policy(service, **changes):
    """The active policy as a person would write it, with other actions for some rules."""
    document = service.ask("GET", "/policy")["document"]
    for name in ("version", "digest", "author", "parent", "note"):
        document.pop(name, None)
    for rule in document["rules"]:
        rule["action"] = changes.get(rule["id"], rule["action"])
    return document


def test_a_policy_is_tried_published_and_activated_in_one_go(trusted, viewers):
    service = trusted
    for number in range(3):
        service.decide("lookup", {"name": str(number)})
    viewer = viewers(service, "operator", "Ada")
    viewer.open("policy", "edit")
    written = json.dumps(write_policy(service, lookup="deny"), indent=1)
    write(viewer, written)
    viewer.press("Try it on the history")
    assert "3 of 3 calls would be decided differently" in viewer.text()
    table = viewer.text("#what-if table >> nth=0")
    assert "allow" in table and "deny" in table and "stricter" in table
    assert "coder" in viewer.text("#what-if"), "the agents whose calls they are"
    assert len(service.ask("GET", "/policy")["versions"]) == 1, "nothing is published by trying"
    viewer.page.get_by_placeholder("what changes, and why").first.fill("nobody looks")
    viewer.page.get_by_label("activate it at once").first.check()
    viewer.press("Publish")
    viewer.page.wait_for_selector("[role=status]:has-text('published and active')")
    policy = service.ask("GET", "/policy")
    assert policy["active"] == "2"
    assert policy["versions"][-1]["note"] == "nobody looks"
    assert policy["versions"][-1]["author"] == viewer.actor
    assert service.decide("lookup", {"name": "again"})["verdict"] == "deny"


def test_a_fault_names_its_line_and_nothing_typed_is_lost(service, viewers):
    viewer = viewers(service, "operator", "Ada")
    written = json.dumps(write_policy(service), indent=1).replace('"action": "allow"', '"action": "perhaps"', 1)
    line = written[: written.index("perhaps")].count("\n") + 1
    viewer.open("policy", "edit")
    write(viewer, written)
    viewer.press("Publish")
    alert = viewer.text("[role=alert]")
    named = int(re.search(r"Line (\d+)\.", alert)[1])
    assert abs(named - line) <= 1, alert
    assert viewer.page.get_by_label("The policy, as JSON").input_value() == written
    write(viewer, '{"rules": [\n,]}')
    viewer.press("Publish")
    assert "Line 2." in viewer.text("[role=alert]")
    assert len(service.ask("GET", "/policy")["versions"]) == 1


def test_nobody_publishes_over_another_s_version(service, viewers):
    viewer = viewers(service, "operator", "Ada")
    viewer.open("policy", "edit")
    service.ask("PUT", "/policy", write_policy(service, lookup="review") | {"parent": "1"})
    viewer.press("Publish")
    assert "the next version of the policy is 3" in viewer.text("[role=alert]")
    assert len(service.ask("GET", "/policy")["versions"]) == 2


def test_two_versions_are_compared_rule_by_rule(service, viewers):
    service.ask("PUT", "/policy", write_policy(service, lookup="review") | {"parent": "1"})
    viewer = viewers(service, "auditor", "Eve")
    viewer.open("policy", "diff", query="?to=2")
    assert "Changed rules" in viewer.text() and "lookup" in viewer.text("dl.facts")
    assert '"action": "allow"' in viewer.text("pre.diff .out")
    assert '"action": "review"' in viewer.text("pre.diff .put")


def test_a_dimension_is_followed_to_a_past_position_and_its_counts_are_set(service, viewers):
    viewer = viewers(service, "operator", "Ada")
    viewer.open("trust")
    viewer.page.get_by_role("link", name=re.compile("^lookup")).first.click()
    assert "400 (0 without a person)" in viewer.text("#record")
    before = int(viewer.page.locator("#position").get_attribute("data-position"))
    viewer.page.get_by_label("Went well").fill("7")
    viewer.page.locator("form[action$=set]").get_by_label("Reason").fill("a new program")
    viewer.press("Set the counts")
    viewer.page.wait_for_selector("[role=status]:has-text('hold from now on')")
    assert "7 (0 without a person)" in viewer.text("#record")
    assert "a new program" in viewer.text(), "the history has the reason"
    viewer.page.get_by_label("After position").fill(str(before))
    viewer.press("Show as it stood")
    assert f"after position {before}" in viewer.text()
    assert "400 (0 without a person)" in viewer.text("#record")
    assert viewer.page.locator("main form[method=post]").count() == 0, "the past takes no act"


def test_an_agent_is_suspended_and_let_go_on(trusted, viewers):
    service = trusted
    viewer = viewers(service, "operator", "Ada")
    viewer.open("trust", "agents")
    viewer.page.get_by_label("Agent").fill("coder")
    viewer.page.get_by_label("Reason").first.fill("it loops")
    viewer.press("Suspend")
    viewer.page.wait_for_selector("[role=status]:has-text('coder is suspended')")
    assert service.decide("lookup", {"name": "one"})["verdict"] == "deny"
    viewer.page.locator("form[action$=resume]").get_by_label("Reason").fill("mended")
    viewer.press("Resume")
    viewer.page.wait_for_selector("[role=status]:has-text('coder is resumed')")
    assert service.decide("lookup", {"name": "other"})["verdict"] == "allow"


def test_costs_agree_with_the_interface_and_with_their_file(demo, viewers):
    viewer = viewers(demo, "auditor", "Eve")
    viewer.open("costs", query="?by=model")
    total = demo.ask("GET", "/costs?by=model")["total"]
    assert f"${float(total['costUsd']):.2f}" in viewer.text("#cost-totals")
    chart = viewer.page.locator("figure.chart").first
    assert chart.locator("svg.plot title").count() == 1 and chart.locator("svg.plot desc").count() == 1
    chart.get_by_text("The numbers").click()
    assert "claude-opus-4-5" in chart.locator("table").inner_text()
    answer = viewer.page.request.get(f"{demo.url}/console/main/costs?by=model&format=csv")
    rows = [line.split(",") for line in answer.text().splitlines()]
    assert rows[0][:2] == ["Model", "US dollars"]
    assert abs(sum(float(row[1]) for row in rows[1:]) - float(total["costUsd"])) < 1e-6


def test_a_budget_shows_how_near_its_end_is(trusted, viewers):
    service = trusted
    budget = {"budget": "deploys", "limits": {"calls": 4}, "period": "day", "onExceed": "pause", "counted": "together"}
    service.ask("PUT", "/budgets", budget)
    viewer = viewers(service, "auditor", "Eve")
    for number in range(4):
        service.decide("lookup", {"name": str(number)})
    viewer.open("costs", "budgets")
    text = viewer.text("#budgets")
    assert "deploys" in text and "of 4 calls" in text
    assert viewer.text("#budgets .badge") == "spent" or "% used" in text, text


PAGES = [
    ("trust",), ("trust", "agents"), ("policy",), ("policy", "versions", "1"), ("policy", "what-if"), ("policy", "suggestions"),
    ("policy", "grants"), ("costs",), ("costs", "budgets"),
]


@pytest.mark.parametrize("page", PAGES, ids="/".join)
def test_no_page_is_wider_than_a_phone(governed, viewers, page):
    viewer = viewers(governed, "operator", "Ada", viewport={"width": 390, "height": 844})
    viewer.open(*page)
    assert viewer.page.evaluate("document.documentElement.scrollWidth") <= 390
