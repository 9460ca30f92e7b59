"""What a role may not do is not shown, and refused if it is sent all the same."""

import pytest

ACTS = [
    ("approvals/{approval}/approve", {"note": "mine"}),
    ("approvals/{approval}/reject", {"note": "mine"}),
]


@pytest.mark.parametrize("role", ["auditor", "agent"])
def test_who_may_only_read_sees_no_act_and_does_none(viewers, governed, role):
    approval = governed.ask_for("deploy", {"to": role})
    viewer = viewers(governed, role, "reader")
    pages = [("now",), ("approvals",), ("approvals", approval)]
    for page in pages:
        viewer.open(*page)
        assert viewer.page.locator("main form[method=post]").count() == 0, f"{page} shows an act to the role {role}"
    before = governed.ask("GET", "/head")["position"]
    for path, fields in ACTS:
        viewer.open("now")
        path = "/console/main/" + path.format(approval=approval)
        status, text = viewer.send(path, form_secret=viewer.form_secret(), **fields)
        assert status == 403 and "role" in text, path
    assert governed.ask("GET", "/head")["position"] == before, "nothing was recorded"
    assert governed.approval(approval)["status"] == "pending"


def test_an_act_is_recorded_as_that_person_s(viewers, governed):
    approval = governed.ask_for("deploy", {"to": "production"})
    viewer = viewers(governed, "operator", "Ada")
    viewer.open("approvals", approval)
    viewer.press("Approve")
    viewer.page.wait_for_selector("[role=status]:has-text('approved')")
    resolved = governed.approval(approval)
    assert resolved["status"] == "approved"
    assert viewer.actor in str(resolved), f"{viewer.actor} answered: {resolved}"
