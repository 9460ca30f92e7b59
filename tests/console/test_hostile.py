"""Whatever agents wrote is text: it runs nothing, loads nothing, links nowhere and hides nothing."""

import csv
import io
import json

from pages import every_page

MARKUP = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script></pre></textarea>&lt;b&gt;'\"`${1}"
HIDDEN = "rm\u202egnp.exe\u200b\u2066x\u0000\u001b[31mred\u00ad\ufeffp\u0430ypal"
# The rows of a file, and of a page.
ROWS, PAGE_ROWS = 100_000, 100
PAGE_BYTES = 250_000
FILE_PATIENCE_MS = 120_000
FOLD_PATIENCE_S = 120
FORMULA = "=HYPERLINK(\"http://evil.example\",\"click\")"


def hostile_service(service):
    """Calls whose every field is written by somebody with bad intent. Returns the approvals that wait."""
    waiting = []
    for number, text in enumerate((MARKUP, HIDDEN.replace("\u0000", ""), FORMULA, "javascript:document.title='taken'", "x" * 200_000)):
        # The interface takes no control characters in names.
        name = "".join(letter for letter in text[:100] if letter.isprintable() or ord(letter) > 0x9F)
        answer = service.decide(
            "deploy", {"command": text, "url": text, text[:50]: [text], "file_path": text, "old_string": text, "new_string": text + "!"},
            session=f"../../admin/{number}" if number else name[:60], model=name[:60],
        )
        waiting.append(answer["approval"]["id"])
        service.decide("lookup", {"url": text}, session=f"s{number}")
        for tool in ("Bash", "Edit", "WebFetch"):
            service.decide(tool, {"command": text, "url": text, "file_path": text, "old_string": text, "new_string": "y"}, session=f"s{number}")
    return waiting


def test_contents_act_in_no_way_on_any_page(viewers, service):
    waiting = hostile_service(service)
    viewer = viewers(service, "admin")
    pages = every_page(viewer)
    addresses = [*pages.values(), *(f"{service.url}/console/main/approvals/{one}" for one in waiting)]
    for address in addresses:
        viewer.page.goto(address)
        assert viewer.page.title() != "taken", address
        assert viewer.page.locator("img, iframe, object, embed, b").count() == 0, f"markup of an agent's at {address}"
        links = viewer.page.locator("a").evaluate_all("links => links.map(link => link.href)")
        assert all(link.startswith(service.url + "/") for link in links), (address, links)
        shown = viewer.page.locator("body").inner_text()
        for hidden in ("\u202e", "\u200b", "\u2066", "\u001b", "\ufeff", "\u00ad"):
            assert hidden not in shown, f"U+{ord(hidden):04X} is not made visible at {address}"
    assert viewer.went_elsewhere() == []
    viewer.page.goto(f"{service.url}/console/main/approvals/{waiting[1]}")
    assert "U+202E" in viewer.text() and viewer.page.locator(".lookalike").count()


def test_a_session_with_steps_up_in_its_name_is_a_session(viewers, service):
    service.decide("lookup", {"q": 1}, session="../../admin")
    viewer = viewers(service, "operator")
    viewer.open("sessions")
    viewer.page.get_by_role("link", name="../../admin").first.click()
    assert viewer.page.locator("header nav a[aria-current]").inner_text() == "Sessions"
    assert "../../admin" in viewer.text("main")


def test_files_for_spreadsheets_hold_no_formulas(viewers, service):
    for start in "=+-@":
        service.decide("lookup", {"q": 1}, session=f"{start}1+1|'cmd'!A1")
    viewer = viewers(service, "operator")
    for page in ("calls", "sessions"):
        answer = viewer.page.request.get(f"{service.url}/console/main/{page}?format=csv")
        assert answer.status == 200 and answer.headers["content-type"].startswith("text/csv")
        assert answer.headers["content-disposition"].startswith("attachment")
        rows = list(csv.reader(io.StringIO(answer.text())))
        assert len(rows) > 4
        for cell in (cell for row in rows for cell in row):
            assert not cell.startswith(("=", "+", "-", "@", "\t")) or cell.lstrip("-").replace(".", "").isdigit(), cell


def test_a_megabyte_of_arguments_is_folded(viewers, service):
    approval = service.ask_for("deploy", {"text": "word " * 190_000})
    viewer = viewers(service, "operator")
    viewer.open("approvals", approval)
    assert viewer.page.locator("details").count()
    assert len(viewer.page.content()) < 1_500_000
    viewer.open("approvals")
    assert len(viewer.page.content()) < 1_500_000
    assert viewer.page.get_by_role("button", name="Approve").count() == 0, "nobody can read it here"


def test_a_hundred_thousand_rows_come_in_pages(viewers, bare):
    lines = (
        json.dumps({"specversion": "1.0", "id": f"n-{n}", "source": "notes", "type": "x.noted", "subject": "notes", "session": f"s-{n}", "data": {"n": n}})
        for n in range(ROWS + 1)
    )
    bare.command("append", given="\n".join(lines) + "\n")
    lags = lambda: [model["lag"] for model in json.loads(bare.command("projections", "--json"))["projections"]]
    bare.until(lambda: not any(lags()), "the read models have all events", FOLD_PATIENCE_S)
    viewer = viewers(bare, "auditor", "Lin")
    for page in ("now", "sessions", "events", "events?type=x.noted", "calls", "costs", "trust", "evidence"):
        answer = viewer.page.request.get(f"{bare.url}/console/main/{page}")
        assert answer.status == 200 and len(answer.body()) < PAGE_BYTES, (page, answer.status, len(answer.body()))
    viewer.open("sessions")
    assert viewer.page.locator("#sessions tbody tr").count() == PAGE_ROWS
    viewer.page.get_by_role("link", name="Next page").click()
    assert viewer.page.locator("#sessions tbody tr").count() == PAGE_ROWS
    # The file has as many as files may have, and its last line says that there are more.
    file = viewer.page.request.get(f"{bare.url}/console/main/sessions?format=csv", timeout=FILE_PATIENCE_MS).text()
    *rows, last = csv.reader(io.StringIO(file))
    assert len(rows) - 1 == len({row[0] for row in rows[1:]}) == ROWS
    assert last == ["(more rows match: narrow the filters or the time span)"]
