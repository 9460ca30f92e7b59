"""Every kind of page that can be reached from the menu, one of each."""

import re
from html import unescape
from urllib.parse import parse_qsl, urljoin, urlsplit

# Pages of which one is enough, however many there are.
MOST_PAGES = 60
LINK = re.compile(r'<a\b[^>]*?\shref="([^"]*)"')


# Sections whose addresses are words of the console, and not names of what is shown.
OF_WORDS = ("policy", "trust", "costs", "evidence", "admin")
# Parts of a query that make another page.
OTHER_PAGES = {"at", "part"}


def kind_of(address):
    """What an address has in common with others of its kind: the section, the depth, and what makes another page of it."""
    parts = urlsplit(address)
    section, *names = parts.path.split("/")[3:]
    shown = [name if section in OF_WORDS and not name.isdigit() else "*" for name in names]
    others = sorted({name for name, _ in parse_qsl(parts.query)} & OTHER_PAGES)
    return "/".join([section, *shown]) + "".join(f"?{name}" for name in others)


def every_page(viewer):
    """Asks for pages by their links, one of each kind, and returns their addresses. `viewer` has signed in."""
    origin = viewer.service.url
    found = {}
    waiting = [f"{origin}/console/main/now"]
    while waiting and len(found) < MOST_PAGES:
        address = waiting.pop(0)
        kind = kind_of(address)
        if kind in found:
            continue
        answer = viewer.page.request.get(address)
        found[kind] = address
        assert answer.status == 200, f"{address} answers {answer.status}"
        if "text/html" in answer.headers["content-type"]:
            waiting += [link for link in links_of(answer, origin) if kind_of(link) not in found]
    return found


def links_of(answer, origin):
    """The addresses of other pages of the ledger that a page links to."""
    links = (urljoin(answer.url, unescape(link)).split("#")[0] for link in LINK.findall(answer.text()))
    return [link for link in links if link.startswith(f"{origin}/console/main/") and "format=" not in link]
