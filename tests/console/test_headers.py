"""What every answer says to the browser: what it may load, run, keep and show in a frame."""

import re

from pages import every_page

FIRST_VIEW_BYTES = 100_000


def test_pages_hold_no_inline_code_or_style_and_load_nothing_from_elsewhere(viewers, demo):
    viewer = viewers(demo, "admin")
    pages = every_page(viewer)
    assert len(pages) > 9, pages
    for address in pages.values():
        answer = viewer.page.request.get(address)
        if "text/html" not in answer.headers["content-type"]:
            continue
        html = answer.text()
        assert not re.search(r"\sstyle=|<style", html), f"inline style at {address}"
        assert not re.search(r"\son[a-z]+=|javascript:", html), f"inline code at {address}"
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", html)), f"inline script at {address}"
        policy = answer.headers["content-security-policy"]
        for part in ("default-src 'self'", "object-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"):
            assert part in policy
        assert "unsafe" not in policy
        expected = {
            "cache-control": "no-store", "x-content-type-options": "nosniff", "x-frame-options": "DENY",
            "referrer-policy": "same-origin", "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
        }
        assert {name: answer.headers.get(name) for name in expected} == expected, address
    assert viewer.went_elsewhere() == []


def test_files_are_kept_for_ever_and_first_views_are_small(viewers, demo):
    sections = ("now", "approvals", "sessions", "calls", "trust", "policy", "costs", "evidence", "admin")
    heavy = {}
    for section in sections:
        viewer = viewers(demo, "admin")
        viewer.open(section)
        html = len(viewer.page.request.get(viewer.page.url).body())
        files = set(re.findall(r"/console/assets/[^\"]+", viewer.page.content()))
        assert len(files) >= 4
        weight = html + sum(len(viewer.page.request.get(file).body()) for file in files)
        if weight > FIRST_VIEW_BYTES:
            heavy[section] = (html, weight)
    assert not heavy
    for file in files:
        answer = viewer.page.request.get(file)
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"
