#!/usr/bin/env python3
"""Was anything lost, or done twice? Told from outside alone.

Reads what `fixpoint emulator --log FILE` wrote: every request with its answer, every webhook and how it was answered,
every branch that moved. Of fixpoint's own state it knows nothing. One line a finding; the exit code is 1 if there is one.

    scripts/check_story.py LOG [--rounds N] [--kills N]
"""

import argparse
import json
import re
import sys
from collections import Counter, defaultdict

NO_COMMIT = "0" * 40
MARKER = re.compile(r"<!-- fixpoint:([0-9a-f-]+:[\w-]+) -->")
BRANCH = re.compile(r"fixpoint/(\d+)-")
# What a status comment begins with while fixpoint itself goes on.
GOING_ON = re.compile(
    r"\*\*(Queued:|Working on|Stopping|Pushing|Waiting:|CI is running)|\*\*[^*]*CI is running|\*\*[^*]*in the merge queue"
)


def marker_of(body):
    found = MARKER.search(body or "")
    return found and found.group(1)


class Story:
    """What the log tells, line by line; `findings` is what is wrong with it."""

    def __init__(self, bot="fixpoint[bot]", word="code", rounds=3, kills=0):
        self.bot, self.rounds, self.kills = bot, rounds, kills
        self.command = re.compile(rf"^/{re.escape(word)}\b", re.MULTILINE)
        # What is answered at once, and therefore not reacted to.
        self.question = re.compile(rf"^/{re.escape(word)}\s+(status|help)\b", re.MULTILINE | re.IGNORECASE)
        self.findings = []
        self.hooks = {}  # guid -> hook
        self.taken = set()  # guids that were answered with success
        self.may = {}  # (repo, login) -> may command
        self.reacted = set()  # (repo, comment)
        self.comments = {}  # (repo, kind, id) -> [thread, marker, bodies]
        self.stood = {}  # (repo, kind, id) -> (arrival of the last text, what others had done by then)
        self.heard = 0  # what others did
        self.words = Counter()  # what people said that is no command -> how often
        self.told = Counter()  # the same -> how often it stands in one request to the model at the most
        self.listed = {}  # (repo, thread) -> (arrival of the newest list, its markers)
        self.answered = defaultdict(set)  # (repo, thread) -> markers of messages and reviews
        self.pulls = {}  # (repo, number) -> head branch, of those that the bot opened
        self.open_pulls = set()
        self.opened_by = {}  # (repo, branch) -> arrival of the request that opened its last pull request
        self.over = Counter()  # (repo, branch) -> pull requests of it that were closed
        self.branches = defaultdict(list)  # (repo, issue) -> branches of ours
        self.pushes = Counter()  # (repo, branch)
        self.tips = {}  # (repo, branch) -> (commit, by whom)
        self.reviewers = Counter()  # (repo, pull, login) -> asked and not answered yet
        self.checks = defaultdict(set)  # (repo, head, name, external id) -> ids
        self.said = {}  # check run -> what it says
        self.reruns = Counter()
        self.asked = Counter()  # requests to the model that were answered
        self.unchanged = 0

    def find(self, text):
        self.findings.append(text)

    def read(self, line):
        kind = line["log"]
        if kind == "hook":
            self.hook(line)
        elif kind == "delivered":
            if 200 <= line["status"] < 300:
                self.taken.add(line["guid"])
        elif kind == "branch":
            self.branch(line)
        elif kind == "request":
            self.request(line)

    # What people and GitHub tell.

    def hook(self, line):
        if line["guid"] in self.hooks:
            return  # sent again
        self.hooks[line["guid"]] = line
        payload, event = line["payload"], line["event"]
        action = payload.get("action")
        if payload.get("sender", {}).get("login") != self.bot:
            self.heard += 1
        if event == "issue_comment" and action == "created":
            self.heard_say(payload["comment"])
        if event == "pull_request" and action in ("closed", "reopened"):
            repo, pull = payload["repository"]["full_name"], payload["pull_request"]
            branch = pull["head"]["ref"]
            if action == "closed":
                self.open_pulls.discard((repo, pull["number"]))
                self.over[repo, branch] += 1
            elif (repo, pull["number"]) in self.pulls:
                self.open_pulls.add((repo, pull["number"]))
        if event == "pull_request" and action == "review_requested" and payload["sender"]["login"] == self.bot:
            repo, login = payload["repository"]["full_name"], payload["requested_reviewer"]["login"]
            key = (repo, payload["pull_request"]["number"], login)
            self.reviewers[key] += 1
            if self.reviewers[key] > 1:
                self.find(f"{login} was asked twice to review {repo}#{key[1]}")
        if event == "pull_request_review" and action == "submitted":
            repo, pull = payload["repository"]["full_name"], payload["pull_request"]["number"]
            self.reviewers[repo, pull, payload["review"]["user"]["login"]] = 0

    def heard_say(self, comment):
        text = (comment["body"] or "").strip()
        # Short words may stand anywhere.
        if comment["user"]["login"] != self.bot and len(text) > 11 and not self.command.search(text):
            self.words[text] += 1

    # What was pushed.

    def branch(self, line):
        key = (line["repository"], line["branch"])
        before = self.tips.get(key)
        self.tips[key] = (line["after"], line["login"])
        if line["login"] != self.bot or line["after"] == NO_COMMIT:
            return
        where = f"{key[0]} {key[1]}"
        of = BRANCH.match(key[1])
        if not of:
            return self.find(f"pushed to a branch that is not ours: {where}")
        if line["forced"]:
            whose = before[1] if before else "somebody"
            self.find(f"a forced push over a commit of {whose}: {where}")
        if line["before"] == NO_COMMIT:
            known = self.branches[key[0], int(of.group(1))]
            if key[1] in known:
                self.find(f"a branch that was gone was pushed again: {where}")
            elif len([one for one in known if not self.over[key[0], one]]) > 0:
                self.find(f"a second branch for #{of.group(1)}: {where} beside {', '.join(known)}")
            known.append(key[1])
        self.pushes[key] += 1

    # What fixpoint asked for.

    def request(self, line):
        path = line["path"].split("?")[0].strip("/").split("/")
        if path[:2] == ["api", "v3"]:
            path = path[2:]
        if path[-1] in ("messages", "completions") and line["method"] == "POST":
            return self.model(line)
        if path[:3] == ["app", "hook", "deliveries"] and len(path) == 4 and line["status"] == 200:
            self.taken.add(line["answer"]["guid"])  # where no port is open, what is read is taken
        if (line["method"], path[3:], line["status"]) == ("POST", ["pulls"], 422):
            return self.not_opened(line, "/".join(path[1:3]))
        if not 200 <= line["status"] < 300 or path[0] != "repos" or len(path) < 4:
            return None
        repo, rest, method = "/".join(path[1:3]), path[3:], line["method"]
        if method == "GET":
            return self.looked(line, repo, rest)
        if line["caller"] != self.bot:
            return None
        return self.wrote(line, repo, rest, method)

    def looked(self, line, repo, rest):
        answer = line["answer"]
        match rest:
            case ["collaborators", login, "permission"]:
                words = (answer.get("permission"), answer.get("role_name"))
                self.may[repo, login] = any(word in ("admin", "maintain", "write") for word in words)
            case ["issues", number, "comments"] if isinstance(answer, list):
                mine = {marker_of(comment.get("body")) for comment in answer} - {None}
                key = (repo, int(number))
                if line["number"] >= self.listed.get(key, (0,))[0]:
                    self.listed[key] = (line["number"], mine)

    def wrote(self, line, repo, rest, method):
        answer, body = line["answer"], line["body"] if isinstance(line["body"], dict) else {}
        match method, rest:
            case "POST", ["issues", "comments", comment, "reactions"]:
                self.reacted.add((repo, int(comment)))
            case "POST", ["issues", number, "comments"]:
                self.commented(line, repo, "issues", int(number), answer["id"], body["body"])
            case "POST", ["pulls", number, "comments", _, "replies"]:
                self.commented(line, repo, "pulls", int(number), answer["id"], body["body"])
            case "PATCH", ["issues" | "pulls" as kind, "comments", comment]:
                self.edited(line, repo, kind, int(comment), body["body"])
            case "DELETE", ["issues" | "pulls" as kind, "comments", comment]:
                self.comments.pop((repo, kind, int(comment)), None)
            case "POST", ["pulls"]:
                self.opened(line, repo, answer["number"], body["head"])
            case "POST", ["pulls", number, "reviews"]:
                marker = marker_of(body.get("body"))
                if marker and marker in self.answered[repo, int(number)]:
                    self.find(f"the review {marker} stands twice on {repo}#{number}")
                self.answered[repo, int(number)].add(marker)
            case "POST", ["check-runs"]:
                key = (repo, body["head_sha"], body["name"], body.get("external_id"))
                self.checks[key].add(answer["id"])
                self.said[answer["id"]] = (body.get("conclusion"), body.get("output"))
            case "PATCH", ["check-runs", run]:
                self.said[int(run)] = (body.get("conclusion"), body.get("output"))
            case "POST", ["actions", "runs", run, "rerun-failed-jobs"]:
                self.reruns[repo, run] += 1

    def commented(self, line, repo, kind, thread, number, body):
        marker = marker_of(body)
        if marker is None:
            return
        newest, markers = self.listed.get((repo, thread), (0, set()))
        if kind == "issues" and marker in markers and newest < line["number"]:
            if any(known[1] == marker for (_, k, _), known in self.comments.items() if k == kind):
                self.find(f"written though it was seen to be there: {marker} on {repo}#{thread}")
        self.comments[repo, kind, number] = [thread, marker, [body]]
        self.stood[repo, kind, number] = (line["number"], self.heard)
        if not marker.endswith(":status"):
            self.answered[repo, thread].add(marker)

    def edited(self, line, repo, kind, number, body):
        known = self.comments.get((repo, kind, number))
        if known is None:
            return
        thread, marker, bodies = known
        if bodies[-1] == body and marker.endswith(":status"):
            self.unchanged += 1
        elif bodies[-1] != body:
            came, heard = self.stood[repo, kind, number]
            went_on = GOING_ON.match(body) and not GOING_ON.match(bodies[-1])
            # One that was on its way when its sender was stopped may still arrive; none may set out later.
            if marker.endswith(":status") and went_on and line["number"] > came and heard == self.heard:
                self.find(f"an answer was taken back though nothing had happened: {marker} on {repo}#{thread}")
            bodies.append(body)
        self.stood[repo, kind, number] = (line["number"], self.heard)

    def opened(self, line, repo, number, branch):
        of = BRANCH.match(branch)
        for other in self.open_pulls:
            theirs = BRANCH.match(self.pulls[other])
            if other[0] == repo and (self.pulls[other] == branch or (of and theirs and of[1] == theirs[1])):
                self.find(f"a second pull request: {repo}#{number} beside #{other[1]} for {branch}")
        self.pulls[repo, number] = branch
        self.open_pulls.add((repo, number))
        self.opened_by[repo, branch] = line["number"]

    def not_opened(self, line, repo):
        branch = line["body"]["head"]
        if self.tips.get((repo, branch), (NO_COMMIT,))[0] == NO_COMMIT:
            self.find(f"a pull request was asked for of a branch that is not there: {repo} {branch}")
        is_open = any(self.pulls[one] == branch for one in self.open_pulls if one[0] == repo)
        if is_open and line["number"] > self.opened_by[repo, branch]:
            self.find(f"a pull request was asked for though there was one: {repo} {branch}")

    def model(self, line):
        if line["status"] != 200:
            return
        request = json.dumps(line["body"], sort_keys=True)
        self.asked[request] += 1
        for text in self.words:
            # Without the quotes around it.
            self.told[text] = max(self.told[text], request.count(json.dumps(text)[1:-1]))

    # At the end.

    def end(self):
        self.doubled()
        self.stale()
        commands = self.commands()
        for (repo, branch), pushes in self.pushes.items():
            group = int(BRANCH.match(branch)[1])
            asked = len([c for c in commands if (c["repo"], c["group"]) == (repo, group)])
            asked = max(1, asked + self.other_wishes(repo))
            if pushes > self.rounds * asked:
                self.find(f"{pushes} pushes to {repo} {branch}, where {self.rounds} rounds are allowed")
        for command in commands:
            self.answered_once(command, commands)
        paid = sum(times - 1 for times in self.asked.values())
        if paid > self.kills:
            self.find(f"{paid} replies of the model were paid for twice")
        for text, times in self.told.items():
            if times > self.words[text]:
                self.find(f"the model was told {times} times what was said {self.words[text]} times: {text!r}")
        for (repo, run), times in self.reruns.items():
            if times > 1 + self.kills:
                self.find(f"run {run} of {repo} was started again {times} times")
        return self.findings

    def doubled(self):
        alive = Counter((repo, thread, marker) for (repo, _, _), (thread, marker, _) in self.comments.items())
        for (repo, thread, marker), times in alive.items():
            if times > 1:
                self.find(f"the comment {marker} stands {times} times on {repo}#{thread}")

        # A check run cannot be deleted; where two were made at once they must say the same.
        for (repo, head, name, _), ids in self.checks.items():
            if len({json.dumps(self.said[one], sort_keys=True) for one in ids}) > 1:
                self.find(f"{len(ids)} check runs {name} on {repo} {head[:7]} say different things")

    def stale(self):
        for (repo, _, _), (thread, marker, bodies) in self.comments.items():
            # Where a late text was written over again, the last one is the newest all the same.
            newest = list(dict.fromkeys(bodies))[-1]
            if bodies[-1] != newest:
                self.find(f"an older text stands again: {marker} on {repo}#{thread}")
        if self.unchanged > self.kills:
            self.find(f"a status was written {self.unchanged} times though it had not changed")

    def group(self, repo, number):
        """The issue that a number belongs to: a pull request of ours belongs to the one that its branch names."""
        of = BRANCH.match(self.pulls.get((repo, number), ""))
        return int(of[1]) if of else number

    def commands(self):
        """Commands in comments whose webhook was taken, by people who may command."""
        found = []
        for guid, hook in self.hooks.items():
            payload = hook["payload"]
            if guid not in self.taken or hook["event"] != "issue_comment" or payload.get("action") != "created":
                continue
            comment, repo = payload["comment"], payload["repository"]["full_name"]
            login = comment["user"]["login"]
            if login == self.bot or not self.command.search(comment["body"] or ""):
                continue
            if not self.may.get((repo, login), True):
                continue
            thread = payload["issue"]["number"]
            group = self.group(repo, thread)
            question = self.question.search(comment["body"]) is not None
            command = {"repo": repo, "thread": thread, "group": group, "id": comment["id"], "by": login}
            found.append(command | {"question": question})
        return found

    def other_wishes(self, repo):
        """What else starts a request: reviews, labels, buttons. Counted for the whole repository, to be on the safe side."""
        others = {("pull_request_review", "submitted"), ("issues", "labeled")}
        others |= {("check_run", "requested_action"), ("check_run", "rerequested")}
        payloads = [(hook["event"], hook["payload"]) for guid, hook in self.hooks.items() if guid in self.taken]
        mine = [(event, p.get("action")) for event, p in payloads if p.get("repository", {}).get("full_name") == repo]
        opened = [p for event, p in payloads if (event, p.get("action")) == ("issues", "opened")]
        by_text = [p for p in opened if self.command.search(p["issue"].get("body") or "")]
        return len([wish for wish in mine if wish in others]) + len(by_text)

    def answered_once(self, command, commands):
        repo, group = command["repo"], command["group"]
        what = f"the command of {command['by']} in comment {command['id']} on {repo}#{command['thread']}"
        if not command["question"] and (repo, command["id"]) not in self.reacted:
            self.find(f"nobody reacted to {what}")
        markers, statuses = set(), []
        for thread in {n for (r, n) in self.answered if r == repo and self.group(r, n) == group}:
            markers |= self.answered[repo, thread]
        for (r, _, _), (thread, marker, bodies) in self.comments.items():
            if r == repo and self.group(r, thread) == group and marker.endswith(":status"):
                statuses.append(bodies[-1])
        if not statuses and not markers:
            self.find(f"never answered: {what}")
        if any(GOING_ON.match(status) for status in statuses):
            self.find(f"still not answered at the end: {what}")
        requests = [int(m.rsplit("-", 1)[1]) for m in markers if m and re.search(r":answer-\d+$", m)]
        asked = len([c for c in commands if (c["repo"], c["group"]) == (repo, group)]) + self.other_wishes(repo)
        if requests and max(requests) > asked:
            self.find(f"{max(requests)} requests were answered where {asked} were made: {repo}#{group}")


def check(lines, **options):
    story = Story(**options)
    for line in lines:
        story.read(line)
    return story.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("log", help="what the emulator wrote with --log")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that a request may have")
    parser.add_argument("--kills", type=int, default=0, help="how often the server was killed meanwhile")
    parser.add_argument("--word", default="code", help="the command word")
    parser.add_argument("--bot", default="fixpoint[bot]", help="the App's login")
    args = parser.parse_args()
    # The last line may still be on its way, cut within a letter: it is left out.
    with open(args.log, encoding="utf-8", errors="replace") as log:
        lines = [json.loads(line) for line in log if line.endswith("\n")]
    findings = check(lines, rounds=args.rounds, kills=args.kills, word=args.word, bot=args.bot)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
