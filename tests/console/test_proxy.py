"""The console behind a proxy that ends TLS."""

import pytest
from service import Service
from tls_proxy import TlsProxy
from viewer import Viewer


@pytest.fixture
def proxied(tmp_path):
    """A service behind a proxy: the pair of them."""
    proxy = TlsProxy(tmp_path)
    service = Service("--allow-origin", proxy.origin).govern()
    proxy.to = service.port
    yield service, proxy
    proxy.close()
    service.close()


def test_a_reviewer_works_over_tls(browser, proxied):
    service, proxy = proxied
    viewer = Viewer(browser, service, base_url=proxy.origin, ignore_https_errors=True)
    try:
        # She signs in under the proxy's name, and stays there.
        viewer.sign_in(service.kept_token("operator", "Ada"), to="/console/main/approvals")
        assert viewer.page.url == f"{proxy.origin}/console/main/approvals"
        kept = next(cookie for cookie in viewer.context.cookies() if cookie["httpOnly"] and "zone" not in cookie["name"])
        assert kept["secure"] and kept["sameSite"] == "Strict", kept

        # What happens is there without a reload, through the proxy.
        approval = service.ask_for("deploy", {"to": "production"})
        viewer.page.locator(f"#card-{approval}").wait_for()
        assert viewer.page.locator("#connection").is_hidden()

        # She answers, and signs out.
        viewer.press("Approve", within=f"#card-{approval}")
        viewer.page.wait_for_selector("[role=status]:has-text('approved')")
        assert service.approval(approval)["resolution"]["by"] == viewer.actor
        viewer.press("Sign out", within="header")
        viewer.page.wait_for_url("**/console/sign-in")
        assert all(url.startswith((proxy.origin, "blob:")) for url in viewer.requests), "nothing is asked for past the proxy"
        assert viewer.errors == []

        # The cookie is no use without TLS: a browser that comes by the service's own address is nobody.
        viewer.sign_in(service.kept_token("operator", "Ada"), to="/console/main/now")
        viewer.page.goto(f"{service.url}/console/main/now")
        assert viewer.page.get_by_label("Token").is_visible()
    finally:
        viewer.close()
