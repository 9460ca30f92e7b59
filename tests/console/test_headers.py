"""What every answer says to the browser: what it may load, run, keep and show in a frame."""

import gzip
import http.client
import re

import pytest
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


SECTIONS = ("now", "approvals", "sessions", "runs", "calls", "trust", "policy", "costs", "evidence", "admin")


def answer(viewer, address):
    """What the service sends to the viewer's browser: the status, the headers and the body as they are transferred."""
    connection = http.client.HTTPConnection("127.0.0.1", viewer.service.port, timeout=30)
    cookies = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in viewer.context.cookies())
    connection.request("GET", address, headers={"cookie": cookies, "accept-encoding": "gzip, deflate, br, zstd"})
    got = connection.getresponse()
    return got.status, got.headers, got.read()


@pytest.mark.parametrize("section", SECTIONS)
def test_a_first_view_is_small(viewers, demo, section):
    viewer = viewers(demo, "admin")
    opened = viewer.open(section)
    assert opened.header_value("content-encoding") == "gzip", "the browser takes it"
    files = set(re.findall(r"/console/assets/[^\"]+", viewer.page.content()))
    assert len(files) >= 4
    sent = 0
    for address in (f"/console/main/{section}", *files):
        status, headers, body = answer(viewer, address)
        assert status == 200, address
        sent += len(body) + len(str(headers))
    assert sent <= FIRST_VIEW_BYTES


def test_pages_and_files_are_compressed_and_downloads_and_new_tokens_are_not(viewers, demo):
    viewer = viewers(demo, "admin")
    for address in ("calls", "evidence"):
        _, headers, body = answer(viewer, f"/console/main/{address}")
        assert headers["vary"] == "accept-encoding"
        plain = viewer.page.request.get(f"/console/main/{address}", headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert len(gzip.decompress(body)) == pytest.approx(len(plain.body()), rel=0.05)
    for download in ("calls?format=csv", "calls?format=json"):
        status, headers, body = answer(viewer, f"/console/main/{download}")
        assert status == 200 and "content-encoding" not in headers and b"demo-coder-edit" in body


def test_the_secret_of_forms_looks_different_in_each_page(viewers, demo):
    """Beside an agent's text, the size of a compressed page would tell of a secret that stands there again and again."""
    viewer = viewers(demo, "operator")
    secrets = set()
    for _ in range(3):
        viewer.open("admin")
        secrets.add(viewer.form_secret())
    assert len(secrets) == 3
    for secret in secrets:
        status, _ = viewer.send("/console/zone", form_secret=secret, zone="UTC", next="/console/main/now")
        assert status == 200, "each is taken"
    mask, masked = secret[:64], secret[64:]
    bare = f"{int(mask, 16) ^ int(masked, 16):064x}"
    for forged in (bare, bare * 2, "0" * 128, masked + mask[:63] + ("0" if mask[63] != "0" else "1")):
        status, _ = viewer.send("/console/zone", form_secret=forged, zone="UTC", next="/console/main/now")
        assert status == 403, forged
    assert f"{'0' * 64}{bare}" not in secrets


def test_files_are_kept_for_ever(viewers, demo):
    viewer = viewers(demo, "admin")
    for file in set(re.findall(r"/console/assets/[^\"]+", viewer.page.content())):
        answer = viewer.page.request.get(file)
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"
