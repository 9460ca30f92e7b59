"""Pages at other ports of the same host: browsers send the session's cookie along with what they ask for, and they set cookies too."""

import http.client
import http.server
import re
import secrets
import socket
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import pytest
from service import Service

FORM_BYTES = 2 * 1024 * 1024
UNKNOWN_FORM_BYTES = 8 * 1024


def send(service, method, path, headers=None, body=None):
    """Sends a request as no browser would. Returns status, headers and text."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def sign_in(service, token):
    """The cookie of a new session."""
    status, headers, _ = send(service, "POST", "/console/sign-in", {}, f"token={token}")
    assert status == 303
    return headers.get_all("set-cookie")[0].split(";")[0]


def ask_for(service):
    """A call that waits, like no other one."""
    return service.ask_for("deploy", {"to": secrets.token_hex(8)})


def form_secret(text):
    return re.search(r'name="form_secret" value="([0-9a-f]+)"', text).group(1)


def head_of_form(service, length, cookie=None):
    """Sends the head of a form and no more. Returns the status that comes at once; none if the service waits for the rest."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=1.5) as sent:
        cookie = f"Cookie: {cookie}\r\n" if cookie else ""
        sent.sendall(f"POST /console/sign-in HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n{cookie}Content-Length: {length}\r\n\r\n".encode())
        try:
            return int(sent.recv(64).split()[1])
        except TimeoutError:
            return None


def test_a_large_form_is_read_from_viewers_alone(governed):
    assert head_of_form(governed, UNKNOWN_FORM_BYTES) is None
    assert head_of_form(governed, UNKNOWN_FORM_BYTES + 1) == 413
    cookie = sign_in(governed, governed.kept_token("auditor"))
    assert head_of_form(governed, FORM_BYTES, cookie) is None
    assert head_of_form(governed, FORM_BYTES + 1, cookie) == 413
    assert head_of_form(governed, FORM_BYTES, cookie.split("=")[0] + "=" + "0" * 64) == 413


def test_a_form_has_as_many_fields_as_a_page_may_have(governed):
    cookie = sign_in(governed, governed.kept_token("operator"))
    for path in ("/console/sign-in", "/console/zone", "/console/main/evidence/verify"):
        assert send(governed, "POST", path, {"cookie": cookie}, "a&" * 257)[0] == 400
    assert send(governed, "GET", "/console/main/calls?" + "a&" * 257, {"cookie": cookie})[0] == 400


def test_of_several_cookies_the_one_that_is_a_session_counts(governed):
    cookie = sign_in(governed, governed.kept_token("operator"))
    name = cookie.split("=")[0]
    for cookies in (f"{name}=garbage; {cookie}", f"{cookie}; {name}={'0' * 64}", f"{cookie}; {cookie}"):
        status, _, text = send(governed, "GET", "/console/main/now", {"cookie": cookies})
        assert status == 200 and "operator:" in text


def test_two_sessions_at_once_are_neither(governed):
    cookies = [sign_in(governed, governed.kept_token(role)) for role in ("operator", "auditor")]
    both = {"cookie": "; ".join(cookies)}
    for path in ("/console", "/console/main/now", "/console/main/live", "/console/main/approvals?format=json"):
        status, headers, text = send(governed, "GET", path, both)
        assert status == 409 and "remove the cookies of" in text and "operator:" not in text
    assert any("Path=/console/main;" in cookie for cookie in headers.get_all("set-cookie"))
    approval = ask_for(governed)
    _, _, page = send(governed, "GET", "/console/main/now", {"cookie": cookies[0]})
    fields = f"form_secret={form_secret(page)}&act={'a' * 64}"
    assert send(governed, "POST", f"/console/main/approvals/{approval}/approve", both, fields)[0] == 409
    assert governed.approval(approval)["status"] == "pending"
    status, headers, _ = send(governed, "POST", "/console/sign-in", both, f"token={governed.kept_token('operator')}")
    assert status == 303
    assert [send(governed, "GET", "/console/main/now", {"cookie": cookie})[0] for cookie in cookies] == [401, 401]


def test_a_cookie_that_another_port_set_for_a_page_is_gone_after_signing_in(viewers, governed):
    viewer = viewers(governed, "operator")
    other = sign_in(governed, governed.kept_token("auditor")).split("=")
    viewer.context.add_cookies([
        {"name": other[0], "value": other[1], "domain": "127.0.0.1", "path": path} for path in ("/", "/console/main", "/console/main/approvals")
    ])
    viewer.open("approvals")
    assert "remove the cookies of" in viewer.text()
    viewer.open("approvals")
    assert "operator" in viewer.text("header .who"), "those of other paths are removed"
    viewer.context.add_cookies([{"name": other[0], "value": other[1], "domain": "127.0.0.1", "path": "/console/main"}])
    viewer.sign_in(governed.kept_token("operator"), to="/console/sign-in")
    assert [cookie["path"] for cookie in viewer.context.cookies() if cookie["name"] == other[0]] == ["/console"]


def test_a_session_that_another_port_put_in_the_place_of_ours_is_told_and_does_nothing(viewers, governed):
    """Its cookie replaces ours, so a read cannot know. What the browser keeps for our port alone shows it, and each act carries it."""
    viewer = viewers(governed, "operator")
    viewer.open("now")
    assert viewer.page.locator("#strange").is_hidden()
    name, other = sign_in(governed, governed.kept_token("auditor")).split("=")
    viewer.context.add_cookies([{"name": name, "value": other, "domain": "127.0.0.1", "path": "/console"}])
    viewer.open("approvals")
    assert viewer.actor.startswith("auditor"), "the other session is the browser's now"
    assert viewer.page.locator("#strange").is_visible() and viewer.actor in viewer.text("#strange")
    status, text = viewer.send("/console/main/evidence/verify", form_secret=viewer.form_secret())
    assert status == 403 and "did not sign in to this session" in text
    # Its setter may have a session of an operator, too.
    approval = ask_for(governed)
    name, other = sign_in(governed, governed.kept_token("operator", "Mallory")).split("=")
    viewer.context.add_cookies([{"name": name, "value": other, "domain": "127.0.0.1", "path": "/console"}])
    viewer.open("approvals", approval)
    viewer.press("Approve")
    viewer.page.wait_for_timeout(500)
    assert governed.approval(approval)["status"] == "pending" and viewer.page.locator("#strange").is_visible()
    viewer.sign_in(governed.kept_token("operator"), to="/console/sign-in")
    viewer.open("approvals")
    assert viewer.page.locator("#strange").is_hidden() and viewer.actor.startswith("operator")


class CookieThief(threading.Thread):
    """A program at another port of the host. It sets a cookie of ours with every answer, and keeps what cookies come to it."""

    def __init__(self, service):
        super().__init__(daemon=True)
        self.set = None
        self.seen = []
        thief = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                thief.seen.append(self.headers.get("cookie", ""))
                self.send_response(200)
                if thief.set:
                    self.send_header("set-cookie", f"{thief.set}; Path=/console; HttpOnly; SameSite=Strict; Max-Age=43200")
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(b"<script>for (let n = 0; n < 4; n++) { (async () => { for (;;) { await fetch('/console/' + Math.random()) } })() }</script>")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/console/x"

    def run(self):
        self.server.serve_forever()


@pytest.fixture
def thief(governed):
    thief = CookieThief(governed)
    thief.start()
    yield thief
    thief.server.shutdown()


def test_who_signs_in_while_another_port_sets_cookies_acts_in_no_session_of_its(viewers, governed, thief):
    """The page after signing in may be one of the other session already. What the answer handed over is not of it."""
    thief.set = sign_in(governed, governed.kept_token("operator", "Mallory"))
    mallory = re.search(r"operator:[0-9a-f]+", send(governed, "GET", "/console/main/now", {"cookie": thief.set})[2]).group(0)
    viewer = viewers(governed)
    viewer.errors_are_expected = True
    evil = viewer.context.new_page()
    evil.goto(thief.url)
    rounds_lost = 0
    for _ in range(4):
        approval = ask_for(governed)
        viewer.sign_in(governed.kept_token("operator"), to=f"/console/sign-in?next=/console/main/approvals/{approval}")
        if not viewer.page.locator("header .who").count():
            continue
        is_lost = viewer.actor == mallory
        rounds_lost += is_lost
        assert viewer.page.locator("#strange").is_visible() == is_lost, viewer.text("body")
        viewer.press("Approve")
        viewer.page.wait_for_timeout(300)
        assert governed.approval(approval).get("resolution", {}).get("by") != mallory
        if is_lost:
            assert viewer.page.locator("#strange").is_visible(), "the script sent nothing"
            status, text = viewer.send(f"/console/main/approvals/{approval}/approve", form_secret=viewer.form_secret())
            assert status == 403 and governed.approval(approval)["status"] == "pending", text
    evil.close()
    print(f"the other port won {rounds_lost} rounds of 4")
    approval = ask_for(governed)
    viewer.sign_in(governed.kept_token("operator"), to=f"/console/sign-in?next=/console/main/approvals/{approval}")
    assert viewer.page.locator("#strange").is_hidden()
    viewer.press("Approve")
    viewer.page.wait_for_selector(".notice")
    assert governed.approval(approval)["status"] == "approved"


def test_a_page_after_signing_in_that_is_of_another_session_is_told_and_does_nothing(viewers, governed):
    """The race above, lost for certain: between the answer to the form and the next page another port replaces the cookie."""
    approval = ask_for(governed)
    name, other = sign_in(governed, governed.kept_token("operator", "Mallory")).split("=")
    viewer = viewers(governed)


    def tossed(route):
        if route.request.method != "POST":
            return route.continue_()
        answer = route.fetch(max_redirects=0)
        viewer.context.add_cookies([{"name": name, "value": other, "domain": "127.0.0.1", "path": "/console"}])
        kept = {header: value for header, value in answer.headers.items() if header != "set-cookie"}
        return route.fulfill(status=answer.status, headers=kept, body=answer.body())

    viewer.page.route("**/console/sign-in*", tossed)
    viewer.sign_in(governed.kept_token("operator"), to=f"/console/sign-in?next=/console/main/approvals/{approval}")
    viewer.page.locator("#strange").wait_for()
    assert viewer.page.locator("#strange").is_visible() and viewer.actor in viewer.text("#strange")
    viewer.press("Approve")
    viewer.page.wait_for_timeout(300)
    assert viewer.path.endswith(approval) and governed.approval(approval)["status"] == "pending"
    status, text = viewer.send(f"/console/main/approvals/{approval}/approve", form_secret=viewer.form_secret())
    assert status == 403 and "did not sign in to this session" in text
    assert governed.approval(approval)["status"] == "pending"
    viewer.page.unroute("**/console/sign-in*")
    viewer.page.locator("#strange").get_by_role("link").click()
    viewer.page.get_by_label("Token").fill(governed.kept_token("operator"))
    viewer.press("Sign in")
    viewer.page.wait_for_url(f"**/approvals/{approval}")
    assert viewer.page.locator("#strange").is_hidden()
    viewer.press("Approve")
    viewer.page.wait_for_selector(".notice")
    assert governed.approval(approval)["status"] == "approved"


def test_who_takes_the_cookie_at_another_port_acts_in_no_session(viewers, governed, thief):
    """Browsers send the cookie to every port of the host. It reads; acts need what the browser sends to our pages alone."""
    viewer = viewers(governed)
    approval = ask_for(governed)
    viewer.sign_in(governed.kept_token("operator"), to=f"/console/main/approvals/{approval}")
    evil = viewer.context.new_page()
    evil.goto(thief.url)
    stolen = next(cookie for cookie in thief.seen if f"bitacora-console-{governed.port}=" in cookie)
    evil.close()
    status, _, page = send(governed, "GET", f"/console/main/approvals/{approval}", {"cookie": stolen})
    assert status == 200
    for key in ("", "&key=", "&key=none", f"&key={'0' * 64}"):
        fields = f"form_secret={form_secret(page)}&act={secrets.token_hex(32)}{key}"
        status, _, text = send(governed, "POST", f"/console/main/approvals/{approval}/approve", {"cookie": stolen}, fields)
        assert status == 403 and "did not sign in to this session" in text
    assert governed.approval(approval)["status"] == "pending"
    viewer.press("Approve")
    viewer.page.wait_for_selector(".notice")
    assert governed.approval(approval)["status"] == "approved"


def test_an_address_alone_signs_nobody_in(viewers, governed):
    """Whoever has a session of their own can lead a browser to any address, also where a person has just signed in."""
    answer = send(governed, "POST", "/console/sign-in", {}, f"token={governed.kept_token('operator', 'Mallory')}&key=wanted")
    name, value = answer[1].get_all("set-cookie")[0].split(";")[0].split("=")
    key = re.search(r'data-key="([0-9a-f.]+)"', answer[2])[1]
    viewer = viewers(governed, "operator")
    viewer.context.add_cookies([{"name": name, "value": value, "domain": "127.0.0.1", "path": "/console"}])
    for address in (f"/console/main/now#signed-in={key}", f"/console/sign-in#{key}", f"/console/main/now?key={key}"):
        viewer.page.goto("/livez")
        viewer.page.goto(address)
        viewer.open("now")
        assert viewer.page.locator("#strange").is_visible(), address


@pytest.mark.parametrize("next_page", ["calls?format=csv", "now?format=json", "live", "nothing"])
def test_whoever_signs_in_for_a_file_is_signed_in_all_the_same(viewers, governed, next_page):
    """No page of the console comes after that, so the browser keeps the key before it."""
    viewer = viewers(governed)
    viewer.errors_are_expected = True
    viewer.page.goto(f"/console/sign-in?next=/console/main/{next_page.replace('?', '%3F')}")
    viewer.page.get_by_label("Token").fill(governed.kept_token("operator"))
    viewer.page.get_by_role("button", name="Sign in").click()
    viewer.page.wait_for_function("localStorage.getItem('bitacora-session')")
    viewer.page.wait_for_timeout(300)
    assert "sign-in" not in viewer.page.url or next_page.endswith("csv")
    assert "key" not in viewer.page.url and "#" not in viewer.page.url
    approval = ask_for(governed)
    viewer.open("approvals", approval)
    assert viewer.page.locator("#strange").is_hidden()
    viewer.press("Approve")
    viewer.page.wait_for_selector(".notice")
    assert governed.approval(approval)["status"] == "approved"


def test_an_open_page_becomes_the_next_persons_when_another_tab_signs_in(viewers, governed):
    """It would show one name and act under another."""
    viewer = viewers(governed, "operator", "Ada")
    viewer.open("approvals")
    ada = viewer.actor
    tab = viewer.context.new_page()
    tab.goto("/console/sign-in?next=/console/main/now")
    tab.get_by_label("Token").fill(governed.kept_token("operator", "Ben"))
    tab.get_by_role("button", name="Sign in").click()
    tab.wait_for_url("**/now")
    ask_for(governed)
    viewer.page.bring_to_front()
    viewer.page.wait_for_function("ada => !document.querySelector('header .who').innerText.includes(ada)", arg=ada)
    assert viewer.page.locator("#strange").is_hidden()


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
def test_what_a_page_of_another_origin_asks_for_is_not_answered_with_a_session(governed, site):
    headers = {"cookie": sign_in(governed, governed.kept_token("operator")), "sec-fetch-site": site}
    for path in ("/console", "/console/main/now", "/console/main/calls?format=csv", "/console/none/now", "/console/sign-in"):
        status, answered, text = send(governed, "GET", path, headers)
        assert status == 200 and "Go on" in text and "operator:" not in text
        assert answered["refresh"] == f"0; url={path}" and answered["set-cookie"] is None
    assert send(governed, "GET", "/console/main/live", headers)[0] == 403
    style = re.search(r'href="(/console/assets/[^"]+css)"', text).group(1)
    assert send(governed, "GET", style, headers)[0] == 200


def test_a_page_at_another_port_signs_nobody_out(viewers, service, other_site):
    """A ledger that does not take the token says so, and the session goes on elsewhere."""
    import json
    import urllib.request

    request = urllib.request.Request(
        f"{service.url}/v1/ledgers", json.dumps({"name": "other"}).encode(),
        {"authorization": f"Bearer {service.admin}", "content-type": "application/json"}, method="POST",
    )
    urllib.request.urlopen(request).read()
    viewer = viewers(service, "operator")
    kept = viewer.cookie()["value"]
    other_site.page = f"""<img src="{service.url}/console/other/now"><img src="{service.url}/console/main/now">"""
    viewer.errors_are_expected = True
    viewer.page.goto(f"http://127.0.0.1:{other_site.port}/")
    assert viewer.cookie()["value"] == kept
    viewer.page.goto("/console/other/now")
    assert "does not take your token" in viewer.text("[role=alert]")
    viewer.open("now")
    assert "operator" in viewer.text("header .who")


def test_an_open_service_keeps_one_session_for_an_address():
    service = Service("--open")
    try:
        own = {"host": f"127.0.0.1:{service.port}"}
        first = send(service, "GET", "/console/main/now", own)[1]["set-cookie"].split(";")[0]
        others = {send(service, "GET", "/console/main/now", own)[1]["set-cookie"].split(";")[0] for _ in range(20)}
        assert others == {first}
        assert send(service, "GET", "/console/main/now", own | {"cookie": first})[1]["set-cookie"] is None
    finally:
        service.close()


def act_of(service, cookie, path, act, **fields):
    """Sends a form of this session. Returns status, headers and text."""
    page = send(service, "GET", "/console/main/now", {"cookie": cookie})[2]
    body = urllib.parse.urlencode({"form_secret": form_secret(page), "act": act} | fields)
    return send(service, "POST", path, {"cookie": cookie}, body)


def told(service, cookie, answer):
    """The words of the notice that an act's answer has, or leads to."""
    text = answer[2] if answer[0] != 303 else send(service, "GET", answer[1]["location"], {"cookie": cookie})[2]
    return re.search(r'class="notice[^"]*"[^>]*>(.*?)</(?:p|div)>', text, re.S).group(1)


def test_forms_that_are_sent_at_once_are_all_told_how_the_first_one_ended(governed):
    cookie = sign_in(governed, governed.kept_token("operator"))
    done, refused = ask_for(governed), ask_for(governed)
    act_of(governed, cookie, f"/console/main/approvals/{refused}/reject", secrets.token_hex(32), note="no")
    for approval, status in ((done, 303), (refused, None)):
        act = secrets.token_hex(32)
        path = f"/console/main/approvals/{approval}/approve"
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: act_of(governed, cookie, path, act), range(6)))
        words = [told(governed, cookie, answer) for answer in answers]
        if status:
            assert {answer[0] for answer in answers} == {status}, words
            assert all("pproved" in word or "sent before" in word for word in words), words
        else:
            assert all(answer[0] >= 400 for answer in answers), words
            assert not any("sent before" in word for word in words), words
    assert governed.approval(done)["status"] == "approved"


def test_an_act_whose_browser_goes_away_is_told_to_the_next_one(governed):
    cookie = sign_in(governed, governed.kept_token("operator"))
    page = send(governed, "GET", "/console/main/now", {"cookie": cookie})[2]
    for pause in (0, 0.002, 0.01, 0.03):
        approval, act = ask_for(governed), secrets.token_hex(32)
        path = f"/console/main/approvals/{approval}/approve"
        body = f"form_secret={form_secret(page)}&act={act}"
        with socket.create_connection(("127.0.0.1", governed.port)) as gone:
            gone.sendall(
                f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{governed.port}\r\nCookie: {cookie}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
            )
            time.sleep(pause)
        words = told(governed, cookie, act_of(governed, cookie, path, act))
        assert "pproved" in words or "sent before" in words
        assert governed.approval(approval)["status"] == "approved", words


@pytest.mark.parametrize("act", ["", "one", "a" * 63, "g" * 64, "a" * 5000])
def test_the_number_of_a_form_is_one_that_a_page_made(governed, act):
    cookie = sign_in(governed, governed.kept_token("operator"))
    approval = ask_for(governed)
    status, _, text = act_of(governed, cookie, f"/console/main/approvals/{approval}/approve", act)
    assert status == 400 and "malformed" in text
    assert governed.approval(approval)["status"] == "pending"


def follow(service, cookie):
    """An open stream of changes."""
    stream = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    stream.request("GET", "/console/main/live", headers={"cookie": cookie})
    answer = stream.getresponse()
    assert answer.status == 200
    return stream, answer


def test_signing_out_and_revoking_end_the_streams_too(service):
    cookie = sign_in(service, service.kept_token("operator"))
    _stream, answer = follow(service, cookie)
    page = send(service, "GET", "/console/main/now", {"cookie": cookie})[2]
    began = time.monotonic()
    assert send(service, "POST", "/console/sign-out", {"cookie": cookie}, f"form_secret={form_secret(page)}")[0] == 303
    answer.read()
    assert time.monotonic() - began < 2

    cookie = sign_in(service, service.token("operator", "Leaver"))
    _stream, answer = follow(service, cookie)
    page = send(service, "GET", "/console/main/now", {"cookie": cookie})[2]
    service.revoke(re.search(r"operator:[0-9a-f]+", page).group(0))
    began = time.monotonic()
    answer.read()
    assert time.monotonic() - began < 8


def test_a_link_names_whom_it_would_replace_and_is_not_pressed_by_a_key(viewers, governed):
    from test_sign_in import make_link

    link = make_link(governed, governed.kept_token("auditor"))
    viewer = viewers(governed, "operator")
    before = viewer.actor
    viewer.page.goto(link["path"])
    assert link["actor"] in viewer.text() and f"signed in as {before}, operator" in viewer.text()
    assert viewer.page.evaluate("document.activeElement.tagName") == "BODY"
    viewer.page.keyboard.press("Enter")
    viewer.page.wait_for_timeout(200)
    viewer.open("now")
    assert viewer.actor == before


@pytest.mark.parametrize("name", [".", "..", "~.", "a/..", "%2e"])
def test_a_session_has_a_page_under_whatever_name(viewers, governed, name):
    governed.decide("lookup", {"name": name}, session=name)
    viewer = viewers(governed, "operator")
    viewer.open("sessions")
    viewer.page.locator("main table").get_by_role("link", name=name, exact=True).first.click()
    viewer.page.wait_for_selector("h1:has-text('Session ')")
    assert viewer.text("h1") == f"Session {name}"
