"""What people type, paste and send twice: every page answers in words, and nothing is done that was not asked for once."""

import datetime
import re
import zoneinfo
from html import unescape
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest
from pages import LINK, every_page

# What is typed into filters and addresses by mistake, or not by mistake.
TYPED = (
    "0", "-1", "18446744073709551616", "99999999", "1e9", "x", "\u202egnp.exe", "\0", "'\"><b>", "../../..", "%", "2026-02-30", "0000-00-00T00:00",
    "9999-12-31T23:59:59", "-9999-01-01", "y" * 5_000,
)
ODD_ZONES = ("America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Chatham", "Pacific/Kiritimati", "Pacific/Apia", "Africa/Casablanca",
             "Europe/Dublin", "America/Nuuk", "Antarctica/Troll", "Etc/GMT+12", "UTC", "US/Eastern")
EVERY_ZONE = 20


def markup(answer):
    """The page without its tags."""
    return unescape(re.sub("<[^>]*>", " ", answer.text()))


def whole(answer, about):
    """A page that answers in words, to its end, with whatever status the input deserves."""
    assert answer.status in (200, 400, 404, 422), f"{about} answers {answer.status}: {markup(answer)[-500:]}"
    assert answer.text().rstrip().endswith("</html>"), about
    if answer.status != 200:
        assert 'role="alert"' in answer.text(), about
    # What was typed stands in its field as it was typed.
    shown = re.sub(r'\bvalue="[^"]*"', "", answer.text())
    assert not re.search(r"<b>|\x00|\u202e", shown), about


def parameters_of(answer):
    """The names that a page takes: of its filters, and of its own links."""
    names = set(re.findall(r'<(?:input|select)\b[^>]*?\bname="([^"]+)"', re.sub(r'<form[^>]*method="post".*?</form>', "", answer.text(), flags=re.S)))
    own = urlsplit(answer.url).path
    for link in map(unescape, LINK.findall(answer.text())):
        if urlsplit(link).path == own:
            names |= {name for name, _ in parse_qsl(urlsplit(link).query)}
    return names - {"format"} | {"after", "at", "until", "limit", "done", "shown", "dir", "order"}


def test_no_page_breaks_at_what_is_typed(viewers, demo):
    viewer = viewers(demo, "admin")
    for address in every_page(viewer).values():
        kept = dict(parse_qsl(urlsplit(address).query))
        answer = viewer.page.request.get(address)
        if "text/html" not in answer.headers["content-type"]:
            continue
        for name in sorted(parameters_of(answer)):
            # Each name gets a share of the texts, so that together they get all.
            start = sum(map(ord, address + name)) % len(TYPED)
            for text in TYPED[start : start + 1]:
                asked = f"{address.split('?')[0]}?{urlencode(kept | {name: text})}"
                whole(viewer.page.request.get(asked), asked[:200])


@pytest.mark.parametrize("text", TYPED)
def test_an_unknown_name_is_not_found_anywhere(viewers, demo, text):
    viewer = viewers(demo, "admin")
    for page in ("approvals/{}", "sessions/{}", "runs/{}", "calls/{}", "events/{}", "policy/{}", "trust/record?tool={}", "policy/diff?to={}", "{}", "policy/versions/{}",
                 "trust/{}", "costs/{}", "evidence/{}", "admin/{}"):
        asked = f"{demo.url}/console/main/{page.format(quote(text, safe=''))}"
        answer = viewer.page.request.get(asked)
        whole(answer, asked[:200])
        if "?" not in page and not (page == "events/{}" and text == "99999999"):
            assert answer.status in (400, 404), (page, text[:50], answer.status)


def test_filters_that_match_nothing_and_everything_say_so(viewers, demo):
    viewer = viewers(demo, "admin")
    for page, name in (("sessions", "agent"), ("runs", "agent"), ("calls", "tool"), ("events", "type"), ("trust", "tool"), ("costs", "agent"), ("costs/budgets", "budget")):
        viewer.open(page, query=f"?{name}=no-such-{name}")
        assert viewer.page.locator("main tbody tr, main ol.history li").count() == 0, page
        assert viewer.page.locator("main .empty").count() or "0" in viewer.text(".facts"), page
    for page in ("sessions", "runs", "calls"):
        rows = viewer.page.request.get(f"{demo.url}/console/main/{page}?format=csv").text().count("\r\n") - 1
        viewer.open(page, query="?since=2000-01-01T00:00&before=2100-01-01T00:00")
        assert viewer.page.locator("main tbody tr").count() == min(rows, 100), page


def test_each_zone_shows_the_time_that_the_database_of_zones_says(viewers, governed):
    stored = governed.ask("GET", "/events/1")
    instant = datetime.datetime.fromisoformat(stored["recordedAt"].replace("Z", "+00:00"))
    viewer = viewers(governed, "auditor", "Zoe")
    # The package's own data: a system's may be older than what governments decide.
    zoneinfo.reset_tzpath(to=[])
    names = sorted({*sorted(zoneinfo.available_timezones() - {"localtime", "Factory"})[::EVERY_ZONE], *ODD_ZONES})
    for name in names:
        if name.startswith(("posix/", "right/")):
            continue
        answer = viewer.context.request.post(
            "/console/zone", form={"form_secret": viewer.form_secret(), "zone": name, "next": "/console/main/events/1"}, headers={"origin": governed.url},
        )
        assert answer.status == 200, name
        local = instant.astimezone(zoneinfo.ZoneInfo(name)).strftime("%Y-%m-%d %H:%M:%S")
        assert local in answer.text(), f"{local} in {name}"


# Changes of clocks: a local time, the zone, and the instants that it may stand for, as the zones' own database has them.
CHANGES = [
    ("2026-03-29T02:30", "Europe/Berlin", "never comes"), ("2026-10-25T02:30", "Europe/Berlin", "comes twice"),
    ("2026-03-08T02:30", "America/New_York", "never comes"), ("2026-11-01T01:30", "America/New_York", "comes twice"),
    ("2026-10-04T02:15", "Australia/Lord_Howe", "never comes"), ("2026-04-05T01:45", "Australia/Lord_Howe", "comes twice"),
    ("2011-12-30T12:00", "Pacific/Apia", "never comes"), ("2026-06-01T12:00", "Europe/Berlin", None),
]


@pytest.mark.parametrize(("local", "zone", "words"), CHANGES)
def test_around_changes_of_clocks_the_page_says_what_it_took(viewers, governed, local, zone, words):
    viewer = viewers(governed, "auditor", "Zoe")
    for page in ("calls", "sessions", "runs"):
        answer = viewer.page.request.get(f"{governed.url}/console/main/{page}?{urlencode({'since': local, 'zone': zone})}")
        said = markup(answer)
        assert answer.status == 200
        assert words in said if words else "never comes" not in said and "comes twice" not in said, (page, said[:400])


def test_two_tabs_answer_a_call_once(viewers, governed):
    approval = governed.ask_for("deploy", {"to": "two tabs"})
    viewer = viewers(governed, "operator", "Ada", java_script_enabled=False)
    viewer.open("approvals", approval)
    other = viewer.tab("approvals", approval)
    viewer.press("Approve")
    assert governed.approval(approval)["status"] == "approved"
    other.get_by_label("Reason").first.fill("not today")
    other.get_by_role("button", name="Reject", exact=True).first.click()
    assert "nothing was done" in other.locator("main").inner_text()
    assert governed.approval(approval)["status"] == "approved"


def test_a_form_that_is_open_when_its_token_ends_does_nothing(viewers, governed):
    approval = governed.ask_for("deploy", {"to": "too late"})
    viewer = viewers(governed)
    viewer.errors_are_expected = True
    viewer.start_session(governed.token("operator", "Short", expires="3s"), to=f"/console/main/approvals/{approval}")
    viewer.page.locator("main").get_by_label("Reason").first.fill("half a thought")
    viewer.page.get_by_role("link", name="Sign in again").wait_for()
    assert viewer.page.locator("main").get_by_label("Reason").first.input_value() == "half a thought"
    viewer.press("Reject")
    assert viewer.page.get_by_label("Token").is_visible() and governed.approval(approval)["status"] == "pending"


@pytest.mark.parametrize("act", ["stop", "suspend", "mode"])
def test_going_back_and_loading_again_repeats_no_act(viewers, service, act):
    viewer = viewers(service, "operator", "Ada")
    kind = {"stop": "panic.engaged", "suspend": "agent.suspended", "mode": "mode.configured"}[act]
    before = len(service.events(kind))
    if act == "stop":
        viewer.open("now")
        viewer.page.get_by_text("Stop everything", exact=True).click()
        viewer.page.locator("#stops").get_by_label("Reason").fill("try")
        viewer.press("Stop everything now")
    elif act == "suspend":
        viewer.open("trust", "agents")
        viewer.page.get_by_label("Agent").fill("coder")
        viewer.page.get_by_label("Reason").first.fill("try")
        viewer.press("Suspend")
    else:
        viewer.open("admin")
        form = viewer.page.locator("#mode form")
        form.locator("[name=mode]").select_option("observe")
        form.locator("[name=note]").fill("try")
        form.get_by_role("button", name="Set the mode").click()
    viewer.page.wait_for_url("**done=*")
    viewer.page.reload()
    viewer.page.go_back()
    viewer.page.reload()
    viewer.page.go_forward()
    viewer.page.reload()
    assert len(service.events(kind)) == before + 1
