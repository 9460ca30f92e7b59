"""Files that pages offer: whole, in turns, and never made for a question about their head."""

import csv
import io
import time
from concurrent.futures import ThreadPoolExecutor

from test_other_ports import send, sign_in


def rows(service, cookie, path):
    """The rows of a file, without the names of its columns."""
    status, headers, text = send(service, "GET", path, {"cookie": cookie})
    assert status == 200 and headers["content-type"].startswith("text/csv"), text[:200]
    return list(csv.reader(io.StringIO(text)))[1:]


def test_the_head_of_a_file_is_told_without_making_it(demo):
    cookie = sign_in(demo, demo.admin)
    began = time.monotonic()
    send(demo, "GET", "/console/main/evidence/bundle", {"cookie": cookie})
    whole = time.monotonic() - began
    began = time.monotonic()
    for _ in range(8):
        status, headers, text = send(demo, "HEAD", "/console/main/evidence/bundle", {"cookie": cookie})
        assert status == 200 and headers["content-type"] == "application/x-tar" and not text
        assert headers["content-length"] is None and "evidence.tar" in headers["content-disposition"]
    assert time.monotonic() - began < max(1, whole), "a bundle takes longer"
    token = {"authorization": f"Bearer {demo.admin}"}
    status, headers, _ = send(demo, "HEAD", "/v1/ledgers/main/evidence", token)
    assert status == 200 and headers["content-length"] is None and headers["content-type"] == "application/x-tar"
    assert send(demo, "HEAD", "/v1/ledgers/main/evidence?until=99999999", token)[0] == send(demo, "GET", "/v1/ledgers/main/evidence?until=99999999", token)[0]
    for page in ("calls", "sessions", "runs", "trust", "approvals", "costs/budgets", "policy/grants"):
        status, headers, _ = send(demo, "HEAD", f"/console/main/{page}?format=csv", {"cookie": cookie})
        assert status == 200 and headers["content-length"] is None and headers["content-type"].startswith("text/csv"), page
    assert send(demo, "HEAD", "/console/main/calls?format=csv&since=never", {"cookie": cookie})[0] == 400


def test_files_of_approvals_consents_and_budgets_have_every_row(service):
    """More than one page of each; a list of the interface has at most 1,000 a page, a file asks for 250."""
    many = 260
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: service.ask_for("deploy", {"n": number}, call=f"many-{number}"), range(many)))
    operator = service.kept_token("operator")
    for number in range(many):
        scope = {"tool": "deploy", "agent": f"agent-{number}", "context": "x", "workspace": "/w"}
        service.ask("POST", "/grants", {"scope": scope, "expires": "2100-01-01T00:00:00Z"}, operator)
    cookie = sign_in(service, operator)
    approvals = rows(service, cookie, "/console/main/approvals?format=csv")
    assert len({row[0] for row in approvals}) == len(approvals) == many
    consents = rows(service, cookie, "/console/main/policy/grants?format=csv&limit=5")
    assert len({row[0] for row in consents}) == len(consents) == many
    assert all(len(row) == 5 for row in consents), "a file has no column of buttons"


def test_whoever_wants_many_files_keeps_nobody_waiting_for_one(demo):
    greedy, other = sign_in(demo, demo.kept_token("auditor", "Greedy")), sign_in(demo, demo.kept_token("auditor", "Other"))

    def file(cookie):
        began = time.monotonic()
        assert rows(demo, cookie, "/console/main/calls?format=csv&since=2000-01-01")
        return time.monotonic() - began

    with ThreadPoolExecutor(16) as pool:
        many = [pool.submit(file, greedy) for _ in range(12)]
        time.sleep(0.2)
        waited = file(other)
        longest = max(one.result() for one in many)
    assert waited < longest / 2, f"one file took {waited:.2f} s beside twelve, which took {longest:.2f} s"
