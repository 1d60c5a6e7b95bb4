#!/usr/bin/env python3
"""Prepares and plays the session of scripts/image-test.sh through the emulator's control.

    image_session.py prepare EMULATOR_URL FOLDER    writes the server's configuration and makes the repository
    image_session.py play EMULATOR_URL              a comment, then waits for one branch and one pull request, green
"""

import json
import pathlib
import sys
import time
import urllib.error
import urllib.request

REPO = "acme/calendar"
LISTEN = "127.0.0.1:3300"


def call(url, verb, /, **arguments):
    request = urllib.request.Request(
        f"{url}/_emulator/{verb}", json.dumps(arguments).encode(), {"content-type": "application/json"}
    )
    try:
        return json.load(urllib.request.urlopen(request, timeout=30))
    except urllib.error.HTTPError as error:
        sys.exit(f"{verb}: {error.read().decode()}")


def prepare(url, folder):
    folder = pathlib.Path(folder)
    app = call(url, "app")
    (folder / "app.pem").write_text(app["private_key_pem"])
    (folder / "webhook-secret").write_text(app["webhook_secret"])
    (folder / "fixpoint.toml").write_text(f"""\
database = "sqlite:/var/lib/fixpoint/fixpoint.db"
data_dir = "/var/lib/fixpoint"

[server]
listen = "{LISTEN}"

[github]
api_url = "{url}"
web_url = "{url}"
app_id = "{app['app_id']}"
private_key_file = "/etc/fixpoint/app.pem"
webhook_secret_file = "/etc/fixpoint/webhook-secret"

[model]
name = "recording"
url = "{url}/v1/"
key = "recording"

[model.prices."recording"]
input = "$0"
output = "$0"
cache_read = "$0"
cache_write = "$0"

[sandbox]
memory = "512 MiB"
disk = "256 MiB"

[limits]
settle = "1s"
""")
    call(url, "create_repository", name=REPO, files={"src/sum.sh": "echo $(($1 - $2))\n"},
         commands={"test": "test \"$(sh src/sum.sh 1 2)\" = 3"})
    call(url, "collaborator", repo=REPO, login="alice", permission="write")
    call(url, "deliver_to", url=f"http://{LISTEN}/webhooks")
    edit = {"path": "src/sum.sh", "old": "$1 - $2", "new": "$1 + $2"}
    plays = [("edit", edit), ("shell", {"command": "sh src/sum.sh 1 2"}), ("finish", {"summary": "Add"})]
    call(url, "model_plays", plays=[
        {"calls": {"say": "", "calls": [{"tool": tool, "arguments": arguments}]}} for tool, arguments in plays
    ])


def wait(what, seconds, check):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(0.3)
    sys.exit(f"not within {seconds} s: {what}")


def ready():
    try:
        return urllib.request.urlopen(f"http://{LISTEN}/readyz", timeout=3).status == 200
    except OSError:
        return False


def play(url):
    wait("the server is ready", 60, ready)
    number = call(url, "open_issue", repo=REPO, login="alice", title="The sum is wrong", body="1 + 2 is 3.")
    call(url, "comment", repo=REPO, number=number, login="alice", body="/code fix the sum")
    pulls = wait("a pull request that is ready", 120,
                 lambda: [p for p in call(url, "pulls", repo=REPO) if not p["draft"]])
    branches = call(url, "branches", repo=REPO)
    assert len(pulls) == 1 and len(branches) == 2, (pulls, branches)
    print(pulls[0]["title"], branches)


if __name__ == "__main__":
    {"prepare": prepare, "play": play}[sys.argv[1]](*sys.argv[2:])
