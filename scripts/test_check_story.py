"""The checker against small logs: each finding by the least that shows it, and silence where nothing is wrong."""

import unittest

from check_story import NO_COMMIT, check

BOT = "fixpoint[bot]"
REPO = "acme/sums"
STATUS = "**#2 is ready for review: Add.**\n\n<!-- fixpoint:01a2:status -->"
WORKING = "**Working on #1: round 1 of 3.**\n\n<!-- fixpoint:01a2:status -->"


class Log:
    """Lines of the emulator's log."""

    def __init__(self):
        self.lines = []

    def request(self, method, path, body=None, answer=None, status=200, caller=BOT):
        number = len(self.lines) + 1
        line = {"log": "request", "number": number, "caller": caller, "method": method, "path": path}
        self.lines.append(line | {"body": body, "status": status, "answer": answer, "lost": False})
        return self

    def hook(self, guid, event, action, **payload):
        payload |= {"action": action, "repository": {"full_name": REPO}}
        self.lines.append({"log": "hook", "guid": guid, "event": event, "payload": payload})
        return self

    def command(self, comment=10, login="alice", status=202, number=1, body="/code add them"):
        said = {"id": comment, "user": {"login": login}, "body": body}
        self.hook(f"guid-{comment}", "issue_comment", "created", comment=said, issue={"number": number})
        self.lines.append({"log": "delivered", "guid": f"guid-{comment}", "status": status})
        return self

    def react(self, comment=10):
        return self.request("POST", f"/repos/{REPO}/issues/comments/{comment}/reactions", {"content": "eyes"}, {})

    def say(self, number, body, thread=1):
        return self.request("POST", f"/repos/{REPO}/issues/{thread}/comments", {"body": body}, {"id": number}, 201)

    def edit(self, number, body):
        return self.request("PATCH", f"/repos/{REPO}/issues/comments/{number}", {"body": body}, {})

    def push(self, before, after, branch="fixpoint/1-sum", login=BOT, forced=False):
        line = {"log": "branch", "repository": REPO, "login": login, "branch": branch, "before": before}
        self.lines.append(line | {"after": after, "forced": forced})
        return self

    def open(self, number, branch="fixpoint/1-sum"):
        return self.request("POST", f"/repos/{REPO}/pulls", {"head": branch}, {"number": number}, 201)

    def found(self, **options):
        return check(self.lines, **options)


def good():
    """A whole story: asked, reacted to, pushed, opened, answered."""
    log = Log().command().react().push(NO_COMMIT, "a1").open(2)
    return log.say(20, WORKING).push("a1", "a2").edit(20, STATUS)


class Checker(unittest.TestCase):
    def finds(self, log, words, **options):
        found = log.found(**options)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_a_good_story_is_silent(self):
        self.assertEqual(good().found(), [])

    def test_a_command_that_nobody_saw(self):
        found = Log().command().found()
        self.assertEqual([line.split(" the ")[0] for line in found], ["nobody reacted to", "never answered:"])

    def test_a_command_that_was_never_taken_is_not_ours(self):
        self.assertEqual(Log().command(status=503).found(), [])

    def test_a_question_is_answered_without_a_reaction(self):
        self.assertEqual(Log().command(body="/code status").say(20, "<!-- fixpoint:01a2:answer-1 -->").found(), [])
        self.finds(Log().command(body="/code status"), "never answered")

    def test_a_stranger_gets_silence(self):
        log = Log().command(login="mallory")
        log.request("GET", f"/repos/{REPO}/collaborators/mallory/permission", None, {"permission": "read"})
        self.assertEqual(log.found(), [])

    def test_a_request_that_is_still_worked_on(self):
        self.finds(Log().command().react().say(20, WORKING), "still not answered")

    def test_a_second_branch(self):
        self.finds(good().push(NO_COMMIT, "b1", "fixpoint/1-sum-2"), "a second branch for #1")

    def test_another_branch_after_the_first_is_over(self):
        log = good().hook("g", "pull_request", "closed", pull_request={"number": 2, "head": {"ref": "fixpoint/1-sum"}})
        self.assertEqual(log.push(NO_COMMIT, "b1", "fixpoint/1-sum-2").open(3, "fixpoint/1-sum-2").found(), [])

    def test_a_second_pull_request(self):
        self.finds(good().open(3), "a second pull request")

    def test_a_comment_that_stands_twice(self):
        self.finds(good().say(21, STATUS), "stands 2 times")

    def test_an_extra_that_was_taken_back(self):
        log = good().say(21, STATUS).request("DELETE", f"/repos/{REPO}/issues/comments/21", status=204)
        self.assertEqual(log.found(), [])

    def test_a_comment_written_though_it_was_seen(self):
        log = good().request("GET", f"/repos/{REPO}/issues/1/comments", None, [{"id": 20, "body": STATUS}])
        log.say(21, STATUS).request("DELETE", f"/repos/{REPO}/issues/comments/21", status=204)
        self.finds(log, "written though it was seen")

    def test_an_older_status_over_a_newer_one(self):
        # After the answer, what was written before it arrives.
        log = good().edit(20, WORKING)
        log.lines[-1]["number"] = 1
        self.assertTrue(any("an older text stands again" in line for line in log.found()))
        self.assertEqual(log.edit(20, STATUS).found(), [])

    def test_a_status_written_again_without_a_change(self):
        self.finds(good().edit(20, STATUS), "had not changed")
        self.assertEqual(good().edit(20, STATUS).found(kills=1), [])

    def test_more_pushes_than_rounds(self):
        self.finds(good(), "2 pushes", rounds=1)

    def test_a_push_to_anothers_branch(self):
        self.finds(good().push("c1", "c2", "main"), "not ours")

    def test_a_forced_push(self):
        log = good().push("a2", "p1", login="alice").push("p1", "a3", forced=True)
        self.finds(log, "a forced push over a commit of alice")

    def test_a_review_asked_for_twice(self):
        asked = {"pull_request": {"number": 2}, "requested_reviewer": {"login": "alice"}, "sender": {"login": BOT}}
        log = good().hook("g1", "pull_request", "review_requested", **asked)
        self.assertEqual(log.found(), [])
        self.assertEqual(log.hook("g1", "pull_request", "review_requested", **asked).found(), [])
        self.finds(log.hook("g2", "pull_request", "review_requested", **asked), "asked twice")

    def test_check_runs_that_disagree(self):
        run = {"head_sha": "a2", "name": "fixpoint", "external_id": "s:a2", "output": {"title": "Working"}}
        log = good().request("POST", f"/repos/{REPO}/check-runs", run, {"id": 30}, 201)
        log.request("POST", f"/repos/{REPO}/check-runs", run | {"output": {"title": "Ready"}}, {"id": 31}, 201)
        self.finds(log, "say different things")

    def test_a_reply_paid_for_twice(self):
        log = good()
        for _ in range(2):
            log.request("POST", "/v1/messages", {"messages": ["add"]}, {}, caller="nobody")
        self.finds(log, "paid for twice")
        self.assertEqual(log.found(kills=1), [])

    def test_an_answer_that_is_taken_back(self):
        log = good().edit(20, "**Working on #2: round 2 of 3.**\n\n<!-- fixpoint:01a2:status -->")
        log.edit(20, STATUS + "\nOnce more.")
        self.finds(log, "an answer was taken back")

    def test_an_answer_after_which_somebody_asks_again(self):
        log = good().command(11).react(11).edit(20, WORKING).edit(20, STATUS + "\nOnce more.")
        self.assertEqual(log.found(), [])

    def test_a_pull_request_of_no_branch(self):
        log = Log().command().react().say(20, STATUS)
        log.request("POST", f"/repos/{REPO}/pulls", {"head": "fixpoint/1-sum"}, {}, 422)
        self.finds(log, "of a branch that is not there")

    def test_a_pull_request_asked_for_twice(self):
        log = good().request("POST", f"/repos/{REPO}/pulls", {"head": "fixpoint/1-sum"}, {}, 422)
        self.finds(log, "though there was one")
        # It had set out before the other one was opened.
        log.lines[-1]["number"] = 1
        self.assertEqual(log.found(), [])

    def test_a_note_that_the_model_reads_twice(self):
        note = {"id": 12, "user": {"login": "alice"}, "body": 'mind the "zero", please'}
        log = good().hook("n", "issue_comment", "created", comment=note, issue={"number": 1})
        told = {"messages": [note["body"], f"She said: {note['body']}"]}
        self.finds(log.request("POST", "/v1/messages", told, {}, caller="nobody"), "told 2 times")
        note = note | {"id": 13}
        self.assertEqual(log.hook("m", "issue_comment", "created", comment=note, issue={"number": 1}).found(), [])

    def test_a_delivery_that_was_read_from_the_list(self):
        log = Log().command(status=0)
        self.assertEqual(log.found(), [])
        log.request("GET", "/app/hook/deliveries/7", None, {"guid": "guid-10"}, caller="app")
        self.assertTrue(any("never answered" in line for line in log.found()))

    def test_more_answers_than_requests(self):
        log = good().say(22, "Done. <!-- fixpoint:01a2:answer-2 -->")
        self.finds(log, "2 requests were answered where 1 were made")


if __name__ == "__main__":
    unittest.main()
