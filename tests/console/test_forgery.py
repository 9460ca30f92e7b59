"""Other web sites, other sessions, other host names: none of them acts on the console, frames it or reads it."""

import http.client

import pytest


def raw(service, method, path, headers, body=b""):
    """Sends a request that a browser would not. Returns status and text."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    for name, value in ({"content-length": str(len(body))} | headers).items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


@pytest.mark.parametrize("secret", [None, "", "0" * 64, "of another session"])
def test_a_form_without_the_session_s_own_secret_does_nothing(viewers, governed, secret):
    approval = governed.ask_for()
    viewer = viewers(governed, "operator")
    if secret == "of another session":
        secret = viewers(governed, "operator").form_secret()
    fields = {"note": "forged"} | ({} if secret is None else {"form_secret": secret})
    viewer.open("now")
    status, text = viewer.send(f"/console/main/approvals/{approval}/approve", **fields)
    assert status == 403 and "another session" in text
    assert governed.approval(approval)["status"] == "pending"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "evil.example"])
def test_a_page_of_another_site_acts_on_nothing_though_it_knew_the_secret(viewers, governed, other_site, host):
    approval = governed.ask_for()
    viewer = viewers(governed, "operator")
    path = f"/console/main/approvals/{approval}/approve"
    other_site.page = f"""<form method="post" action="{governed.url}{path}">
        <input name="form_secret" value="{viewer.form_secret()}"><input name="act" value="{'a' * 64}"><button>Win a prize</button></form>"""
    viewer.page.goto(f"http://{host}:{other_site.port}/")
    with viewer.page.expect_response(f"**{path}") as answered:
        viewer.page.get_by_role("button").click()
    assert answered.value.status == 403
    assert "cross-site" in viewer.page.content()
    assert governed.approval(approval)["status"] == "pending"


def test_a_page_of_another_site_signs_nobody_in_and_out(viewers, governed, other_site):
    viewer = viewers(governed, "operator")
    kept = viewer.cookie()["value"]
    other_site.page = f"""<form method="post" action="{governed.url}/console/sign-in">
        <input name="token" value="{governed.kept_token("auditor")}"><button>Go</button></form>"""
    viewer.page.goto(f"http://127.0.0.1:{other_site.port}/")
    viewer.page.get_by_role("button").click()
    viewer.page.wait_for_url("**/console/sign-in")
    assert "cross-site" in viewer.page.content()
    assert viewer.cookie()["value"] == kept


@pytest.mark.parametrize("path", ["/console/main/now", "/console/main/live", "/console/sign-in", "/console/main/approvals?format=json"])
def test_a_rebound_name_reaches_nothing(viewers, governed, path):
    viewer = viewers(governed)
    answer = viewer.page.goto(f"http://evil.example:{governed.port}{path}")
    assert answer.status == 421
    assert "token" not in viewer.text("body").lower() or "misdirected" in viewer.text("body")
    assert not viewer.page.locator("input").count(), "nobody is asked for a token under a stranger's name"


@pytest.mark.parametrize(
    "host", [{}, {"host": ""}, {"host": "evil.example"}, {"host": "127.0.0.1.evil.example"}, {"host": "localhost@evil.example"},
             {"host": "127.0.0.1:1:2"}, {"host": "0x7f.1"}, {"host": "localhost", "Host": "evil.example"}],
)
def test_a_request_without_a_known_host_is_refused(governed, host):
    status, text = raw(governed, "GET", "/console/sign-in", host)
    assert status in (400, 421), text


@pytest.mark.parametrize(
    "origin", ["null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1", "http://localhost:{port}", "HTTP://127.0.0.1:{port}/"],
)
def test_an_act_names_the_origin_that_it_came_to(governed, origin):
    headers = {"host": f"127.0.0.1:{governed.port}", "origin": origin.format(port=governed.port)}
    body = f"token={governed.kept_token('operator')}".encode()
    status, _ = raw(governed, "POST", "/console/sign-in", headers, body)
    assert status == 403


def test_nobody_frames_or_reads_a_page(viewers, governed, other_site):
    viewer = viewers(governed, "operator")
    viewer.errors_are_expected = True
    other_site.page = f"""<iframe src="{governed.url}/console/main/approvals"></iframe><img src="{governed.url}/console/main/now?format=json">
        <script src="{governed.url}/console/main/approvals?format=json"></script>"""
    viewer.page.goto(f"http://127.0.0.1:{other_site.port}/")
    framed = [frame for frame in viewer.page.frames if frame != viewer.page.main_frame]
    assert framed and all("Approvals" not in frame.content() for frame in framed)
    can_read = viewer.page.evaluate(
        """async (url) => { try { return (await fetch(url, { credentials: "include" })).status } catch { return "kept away" } }""",
        f"{governed.url}/console/main/now?format=json",
    )
    assert can_read == "kept away"


def test_a_proxy_with_tls_serves_the_console_under_its_own_name(browser):
    """What a proxy sends on: the name that it is reached under, and the origin of its pages."""
    from service import Service

    service = Service("--allow-origin", "https://ledger.example").govern()
    try:
        own = {"host": "ledger.example", "origin": "https://ledger.example", "content-type": "application/x-www-form-urlencoded"}
        body = f"token={service.admin}".encode()
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
        connection.request("POST", "/console/sign-in", body, own)
        answer = connection.getresponse()
        assert answer.status == 303
        cookie = answer.getheader("set-cookie")
        assert "; Secure" in cookie, "a cookie that was set over TLS comes back over TLS alone"
        connection.close()
        status, _ = raw(service, "POST", "/console/sign-in", own | {"origin": "http://ledger.example"}, body)
        assert status == 403, "the page without TLS is another origin"
        status, _ = raw(service, "POST", "/console/sign-in", own | {"host": f"127.0.0.1:{service.port}"}, body)
        assert status == 403
    finally:
        service.close()


def test_an_open_service_is_open_to_nobody_behind_a_proxy():
    from service import Service

    service = Service("--open", "--allow-origin", "https://ledger.example")
    try:
        status, text = raw(service, "GET", "/console/main/now", {"host": "ledger.example"})
        assert status == 401, text[:200]
        status, _ = raw(service, "GET", "/console/main/now", {"host": f"127.0.0.1:{service.port}"})
        assert status == 200
    finally:
        service.close()


def test_tokens_are_not_tried_out_without_end(service):
    headers = {"host": f"127.0.0.1:{service.port}", "origin": service.url}
    statuses = [raw(service, "POST", "/console/sign-in", headers, f"token=bt_{n:043}".encode())[0] for n in range(40)]
    assert statuses[:30] == [401] * 30 and statuses[30:] == [503] * 10
