"""Signing in and out."""


def test_a_token_signs_in_and_leads_to_the_page_that_was_asked_for(viewers, governed):
    viewer = viewers(governed)
    viewer.sign_in(governed.kept_token("operator", "Ada"), to="/console/main/approvals")
    assert viewer.path == "/console/main/approvals"
    assert "Ada" in viewer.text("header .who") or "operator" in viewer.text("header .who")


def test_an_approval_is_given(viewers, governed):
    approval = governed.ask_for("deploy", {"to": "production"})
    viewer = viewers(governed, "operator", "Ada")
    viewer.open("approvals", approval)
    viewer.press("Approve")
    assert governed.approval(approval)["status"] == "approved"
