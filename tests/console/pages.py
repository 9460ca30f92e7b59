"""Every kind of page that can be reached from the menu, one of each."""

from urllib.parse import urlsplit

# Pages of which one is enough, however many there are.
MOST_PAGES = 60


def kind_of(address):
    """What an address has in common with others of its kind: the section, the depth, and the names of its filters."""
    parts = urlsplit(address)
    segments = parts.path.split("/")[3:]
    fixed = [segment if place == 0 or segment.isalpha() and len(segment) < 12 else "*" for place, segment in enumerate(segments)]
    return "/".join(fixed)


def every_page(viewer):
    """Opens pages by their links, one of each kind, and returns their addresses. `viewer` has signed in."""
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
        if "text/html" not in answer.headers["content-type"]:
            continue
        viewer.page.goto(address)
        links = viewer.page.locator("a[href]").evaluate_all("links => links.map(link => link.href)")
        fresh = (link.split("#")[0] for link in links if link.startswith(f"{origin}/console/main/"))
        waiting += [link for link in fresh if "format=" not in link and kind_of(link) not in found]
    return found
