"""Pictures of the console's pages, over the demo that `bitacora quickstart` makes."""

import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from service import ROOT, Service
from viewer import Viewer, open_browser

FOLDER = ROOT / "docs" / "console"
SIZE = {"width": 1280, "height": 800}
MAX_PICTURE_BYTES = 120_000
COLOURS = (128, 64, 32)


def pages(viewer):
    """The name of each picture with the address of its page."""
    sections = ("now", "approvals", "sessions", "runs", "calls", "trust", "policy", "costs", "evidence", "admin")
    named = {name: f"/console/main/{name}" for name in sections}
    # One of each list, opened.
    for name, section in (("call", "calls?verdict=deny"), ("session", "sessions"), ("run", "runs"), ("dimension", "trust")):
        viewer.page.goto(f"/console/main/{section}")
        start = f"/console/main/{section.split('?')[0]}/"
        links = viewer.page.locator(f"main a[href^='{start}']")
        if links.count():
            named[name] = links.first.get_attribute("href")
    named["what-if"] = "/console/main/policy/what-if"
    return {name: address for name, address in named.items() if viewer.page.request.get(viewer.service.url + address).ok}


def keep(picture, name):
    """Keeps a picture with as many colours as fit."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    for colours in COLOURS:
        out = io.BytesIO()
        image.quantize(colours, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
        if len(out.getvalue()) <= MAX_PICTURE_BYTES:
            break
    else:
        raise ValueError(f"{name} has {len(out.getvalue())} bytes, more than {MAX_PICTURE_BYTES}")
    (FOLDER / name).write_bytes(out.getvalue())


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    service = Service(demo=True)
    try:
        with sync_playwright() as playwright:
            browser = open_browser(playwright)
            for theme in ("light", "dark"):
                viewer = Viewer(browser, service, color_scheme=theme, viewport=SIZE)
                viewer.page.goto("/console/sign-in")
                keep(viewer.page.screenshot(), f"sign-in-{theme}.png")
                viewer.sign_in(service.admin)
                for name, address in pages(viewer).items():
                    viewer.page.goto(address)
                    keep(viewer.page.screenshot(), f"{name}-{theme}.png")
                viewer.close()
            browser.close()
    finally:
        service.close()


if __name__ == "__main__":
    main()
