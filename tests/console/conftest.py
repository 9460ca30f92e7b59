"""What the tests share: one browser, services, and people at pages of their own."""

import os
from pathlib import Path

import pytest
from other_site import OtherSite
from playwright.sync_api import sync_playwright
from service import Service
from viewer import Viewer, open_browser


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        opened = open_browser(playwright)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def demo():
    """A service with the bundled hour. Tests share it, so they end nothing in it."""
    service = Service(demo=True)
    yield service
    service.close()


@pytest.fixture(scope="session")
def governed():
    """A service with a policy, which tests share: each looks for what it made itself."""
    service = Service().govern()
    yield service
    service.close()


@pytest.fixture
def service():
    """A service of the test's own, with a policy."""
    own = Service().govern()
    yield own
    own.close()


@pytest.fixture
def bare():
    """A service of the test's own, in whose ledger nobody has done anything."""
    own = Service()
    yield own
    own.close()


@pytest.fixture
def viewers(request, browser):
    """Makes people at browsers: `viewers(service)`, or `viewers(service, "operator")` who has signed in."""
    made = []

    def make(service, role=None, name=None, **context):
        viewer = Viewer(browser, service, **context)
        made.append(viewer)
        if role:
            token = service.admin if role == "admin" and not name else service.kept_token(role, name)
            viewer.start_session(token)
        return viewer

    yield make
    has_failed = getattr(request.node, "has_failed", False)
    folder = os.environ.get("BITACORA_CONSOLE_SHOTS")
    for number, viewer in enumerate(made):
        if has_failed and folder:
            viewer.page.screenshot(path=Path(folder) / f"{request.node.name}-{number}.png", full_page=True)
        errors = [] if viewer.errors_are_expected else viewer.errors
        viewer.close()
        assert has_failed or not errors, f"the browser reports: {errors}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.has_failed = getattr(item, "has_failed", False) or report.failed
    return report


@pytest.fixture
def other_site():
    with OtherSite("") as site:
        yield site
