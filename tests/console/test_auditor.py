"""The auditor's story: is the record whole, and how do I prove it to somebody who trusts neither the service nor me?"""

import os
import subprocess
import sys
import tarfile

# The service reads every byte of its files, and makes a file of thousands of events.
PATIENCE_MS = 120_000

PYTHON = os.environ.get("BITACORA_PYTHON", sys.executable)


def verify(bundle, key, folder):
    """Does what the bundle's own page says: takes the verifier out of it, and runs that. Returns exit code and words."""
    subprocess.run(["tar", "xf", bundle, "bitacora_verify.py"], cwd=folder, check=True)
    command = [PYTHON, "-I", "bitacora_verify.py", "--bundle", bundle, "--vkey", key]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def download(viewer, to, **fields):
    """Chooses events in the form, and keeps the file that comes."""
    form = viewer.page.locator("#bundle form")
    for name, value in fields.items():
        form.locator(f"[name={name}]").fill(value)
    with viewer.page.expect_download(timeout=PATIENCE_MS) as started:
        viewer.page.locator("#bundle").get_by_role("button", name="Download").click(no_wait_after=True, timeout=PATIENCE_MS)
    started.value.save_as(to)
    return to


def test_an_auditor_finds_the_record_whole_and_takes_the_proof_away(viewers, demo, tmp_path):
    auditor = viewers(demo, "auditor", "Noor")
    page = auditor.page

    # Is the record whole? They ask the service, and see it work and end.
    auditor.open("evidence")
    assert "Signed tree heads" in auditor.text()
    auditor.press("Verify now", within="#verification")
    page.wait_for_selector("#verification .badge:text-is('verified')", timeout=PATIENCE_MS)
    result = auditor.text("#verification")
    assert "Whole" in result and auditor.actor in result
    checked = int(page.locator("#verification dt:text-is('Events') + dd").inner_text().replace(",", ""))
    assert checked > demo.demo_events

    # They keep the ledger's key from a source of their own: here, the operator's command line.
    key = demo.ask("GET", "/keys")["verifierKey"]
    assert page.locator("#verifier-key").inner_text() == key

    # They take the events of the hour away, with the proof of each.
    bundle = download(auditor, tmp_path / "hour.tar")
    code, words = verify(bundle, key, tmp_path)
    assert code == 0, words
    assert "events, positions 1 to" in words

    # Somebody else's key vouches for none of it.
    other = key[:-4] + ("AAAA" if not key.endswith("AAAA") else "BBBB")
    assert verify(bundle, other, tmp_path)[0] not in (0, 10)

    # Whoever changes one byte on the way is found out.
    for name in ("events.ndjson", "proofs.ndjson", "heads/proofs.note"):
        assert verify(flipped(bundle, name, tmp_path / "flipped.tar"), key, tmp_path)[0] == 40, name


def test_a_bundle_of_one_session_has_no_other_events(viewers, demo, tmp_path):
    session = demo.ask("GET", "/sessions?limit=1")["sessions"][0]["session"]
    auditor = viewers(demo, "auditor", "Noor")
    auditor.open("evidence")
    bundle = download(auditor, tmp_path / "session.tar", session=session)
    with tarfile.open(bundle) as archive:
        events = archive.extractfile("events.ndjson").read().splitlines()
    assert events and all(f'"session":"{session}"'.encode() in event for event in events)
    code, words = verify(bundle, demo.ask("GET", "/keys")["verifierKey"], tmp_path)
    assert code == 0 and "not that there are no others" in words, words


def test_what_is_no_range_is_said_in_words(viewers, demo):
    auditor = viewers(demo, "auditor", "Noor")
    for query, words in [
        ("?since=noon", "no time"),
        ("?after=9&until=3", "until"),
        ("?session=nobody", "no event"),
        ("?until=99999999", "past"),
    ]:
        auditor.open("evidence", "bundle", query=query)
        assert words in auditor.text("[role=alert]"), query
        assert auditor.page.locator("main a:has-text('Back to Evidence')").count() == 1


def test_an_agent_s_token_starts_no_verification(viewers, governed):
    agent = viewers(governed, "agent", "curious")
    agent.open("evidence")
    assert agent.page.locator("main form[method=post]").count() == 0
    secret = agent.form_secret()
    status, text = agent.send("/console/main/evidence/verify", form_secret=secret)
    assert status == 403 and "role" in text


def flipped(bundle, name, to):
    """The same bundle with one bit of one member changed, in the middle."""
    with tarfile.open(bundle) as archive:
        member = archive.getmember(name)
    data = bytearray(bundle.read_bytes())
    data[member.offset_data + member.size // 2] ^= 1
    to.write_bytes(data)
    return to
