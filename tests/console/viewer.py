"""A person at a browser: signs in, reads pages, and does what the pages offer."""

import os
import re
import secrets
from urllib.parse import urlsplit

CHROMIUM = os.environ.get("BITACORA_CHROMIUM", "/usr/bin/chromium")
WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 390, "height": 844}
PATIENCE_MS = 10_000


# Names that lead to this machine in the tests' browser: of a stranger who has a name server, and of a proxy before the service.
NAMES = ("evil.example", "ledger.example")


def open_browser(playwright):
    """Debian's Chromium. It finds the other names of the tests here."""
    rules = ", ".join(f"MAP {name} 127.0.0.1" for name in NAMES)
    arguments = [f"--host-resolver-rules={rules}"] + (["--no-sandbox"] if os.geteuid() == 0 else [])
    return playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)


class Viewer:
    """A browser profile of its own, with one page open. `page` is Playwright's."""

    def __init__(self, browser, service, **context):
        self.service = service
        self.context = browser.new_context(**({"base_url": service.url, "viewport": WIDE} | context))
        self.context.set_default_timeout(PATIENCE_MS)
        self.has_scripts = context.get("java_script_enabled", True)
        self.errors = []
        self.errors_are_expected = False
        self.requests = []
        self.context.on("weberror", lambda error: self.errors.append(str(error.error)))
        self.context.on("console", self._heard)
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.page = self.context.new_page()

    def _heard(self, message):
        # A refused policy says so on the console of the browser, and nowhere else.
        expected = ("the server responded with a status of", "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED", "ERR_CONNECTION_RESET")
        if message.type == "error" and not any(words in message.text for words in expected):
            self.errors.append(message.text)

    def start_session(self, token, to="/console/main/now"):
        """Signs in as the form does, without its page, and opens another one."""
        key = {"key": "wanted"} if self.has_scripts else {}
        answer = self.context.request.post("/console/sign-in", form={"token": token} | key, max_redirects=0)
        assert answer.status == (200 if key else 303), f"signing in answers {answer.status}"
        if not self.has_scripts:
            self.page.goto(to)
            return self
        # The script of the page that answers keeps what it is handed.
        handed_over = re.search(r'data-key="([0-9a-f.]+)"', answer.text())[1]
        self.page.goto("/livez")
        self.page.evaluate("(handed_over) => localStorage.setItem('bitacora-session', handed_over)", handed_over)
        self.page.goto(to)
        return self

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

    @property
    def actor(self):
        """The name that the viewer's acts are recorded under."""
        return self.text("header .who").split(" · ")[0].strip()

    def text(self, selector="main"):
        return self.page.locator(selector).inner_text()

    def press(self, name, within="main"):
        """Presses the first button with this name."""
        self.page.locator(within).get_by_role("button", name=name, exact=True).first.click()

    def cookie(self, name="bitacora-console"):
        """The session's cookie; none after signing out."""
        return next((cookie for cookie in self.context.cookies() if cookie["name"].startswith(f"{name}-{self.service.port}")), None)

    def form_secret(self):
        """The secret that each form of the session carries."""
        return self.page.locator("input[name=form_secret]").first.get_attribute("value")

    def send(self, path, **fields):
        """Sends a form of one's own from the page that is open, as a person with developer tools can. Returns status and text."""
        fields = {"act": secrets.token_hex(32)} | fields
        return self.page.evaluate(
            """async ([path, fields]) => {
                const key = localStorage.getItem("bitacora-session")?.split(".")[1];
                const body = new URLSearchParams(key ? { key, ...fields } : fields);
                const answer = await fetch(path, { method: "POST", body, redirect: "follow" });
                return [answer.status, await answer.text()];
            }""",
            [path, fields],
        )

    def went_elsewhere(self):
        """The addresses of other origins that the pages asked for."""
        return [url for url in self.requests if not url.startswith((self.service.url + "/", "data:", "blob:"))]

    def close(self):
        self.context.close()
