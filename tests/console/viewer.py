"""A person at a browser: signs in, reads pages, and does what the pages offer."""

import os
from urllib.parse import urlsplit

CHROMIUM = os.environ.get("BITACORA_CHROMIUM", "/usr/bin/chromium")
WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 390, "height": 844}
PATIENCE_MS = 10_000


def open_browser(playwright):
    """Debian's Chromium, without what a browser asks of others by itself."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)


class Viewer:
    """A browser profile of its own, with one page open. `page` is Playwright's."""

    def __init__(self, browser, service, **context):
        self.service = service
        self.context = browser.new_context(base_url=service.url, **({"viewport": WIDE} | context))
        self.context.set_default_timeout(PATIENCE_MS)
        self.errors = []
        self.requests = []
        self.context.on("weberror", lambda error: self.errors.append(str(error.error)))
        self.context.on("console", self._heard)
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.page = self.context.new_page()

    def _heard(self, message):
        # A refused policy says so on the console of the browser, and nowhere else.
        if message.type == "error" and "the server responded with a status of" not in message.text:
            self.errors.append(message.text)

    def sign_in(self, token, to="/console"):
        """Signs in with a token, at a page that asks for it."""
        self.page.goto(to)
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(lambda url: "sign-in" not in url)
        return self

    def open(self, *parts, query=""):
        """Opens a page of the ledger: `open("approvals")`."""
        return self.page.goto("/".join(("/console/main", *parts)) + query)

    def tab(self, *parts):
        """Another tab of the same profile, at a page of the ledger."""
        tab = self.context.new_page()
        tab.goto("/".join(("/console/main", *parts)))
        return tab

    @property
    def path(self):
        return urlsplit(self.page.url).path

    def text(self, selector="main"):
        return self.page.locator(selector).inner_text()

    def press(self, name, within=None):
        """Presses a button."""
        (within or self.page.locator("main")).get_by_role("button", name=name, exact=True).first.click()

    def went_elsewhere(self):
        """The addresses of other origins that the pages asked for."""
        return [url for url in self.requests if not url.startswith((self.service.url + "/", "data:", "blob:"))]

    def close(self):
        self.context.close()
