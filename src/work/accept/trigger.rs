//! Somebody asks for something: are they allowed, what is it, and which session does it belong to?

use super::{
    Settled, Unsettled,
    begin::{self, On},
    entries, holds_label, ignored, made, of_thread,
};
use crate::{
    domain::{
        Audited, CommentId, Effect, Entry, Fault, InstallationId, SessionId, Timestamp,
        command::{self, Command, Read, Reading, Word},
        delivery::{Asked, Trigger},
        repo_config::Effective,
        say, seeded,
        session::{Ask, Job, LineNote, Message, Request, Spot, Subject},
    },
    github::{App, Repository, ReviewComment, Side},
    store::{Acceptance, Summary},
    work::{Daily, Parts, rules},
};
use std::sync::Arc;

/// What keeps count of a thread's requests.
const ASKED: &str = "asked";
/// What tells that a thread was told of their end.
const ENOUGH: &str = "enough";
/// What tells that a thread was told of the end of the day's money.
const BROKE: &str = "broke";

/// Settles a trigger that came in at `at`.
pub(super) async fn settle(
    parts: &Parts,
    app: &App,
    trigger: Trigger,
    at: Timestamp,
) -> Result<Settled, Unsettled> {
    let Some(installation) = trigger.place.installation else {
        return Ok(ignored("it came through no installation of the App"));
    };
    let (repo, number) = (trigger.place.repo.id, trigger.number);
    let (subject, key) = match &trigger.asked {
        Asked::Body => (Subject::Body, Some(format!("body:{repo}:{number}"))),
        Asked::Comment(id) => (Subject::Comment(*id), Some(format!("comment:{id}"))),
        Asked::Review(id) => (Subject::Review(*id), Some(format!("review:{id}"))),
        // A label can be put on again, a button be pressed again.
        Asked::Label => (Subject::Label, None),
        Asked::Button { check_run } => (Subject::Button(*check_run), None),
    };
    let repository = parts.github.repository(installation, &trigger.place.repo);
    // Strangers get silence: nothing is written, nothing is shown.
    if !repository.permission(&trigger.by).await?.may_command() {
        let why = "the sender has no write access";
        let (fate, mut acceptance) = ignored(why);
        acceptance.refused = Some((repo, Audited::refused(trigger.by, number, why)));
        return Ok((fate, acceptance));
    }
    let holds = rules::of(&parts.house, &repository, repo).await?;
    if trigger.asked == Asked::Label && !trigger.text.eq_ignore_ascii_case(&holds.labels.start) {
        return Ok(ignored("not a label of ours"));
    }
    let live = of_thread(parts, repo, number).await?;
    let last = parts.store.latest_of_thread(repo, number).await?;
    let asks = Asks { parts, installation, holds, app, repository, trigger: &trigger, subject, live, last };
    let (fate, mut acceptance) = match &trigger.asked {
        Asked::Label => asks.labelled().await?,
        Asked::Button { .. } => asks.pressed().await?,
        Asked::Review(id) => asks.reviewed(*id, at).await?,
        Asked::Body | Asked::Comment(_) => asks.said().await?,
    };
    let mut fate = match begins(&acceptance) && !asks.counts(&mut acceptance).await? {
        false => fate,
        true => {
            let enough;
            (enough, acceptance) = asks.enough().await?;
            enough
        }
    };
    if begins(&acceptance) && asks.knows_of_the_budget(&mut acceptance).await? {
        (fate, acceptance) = ignored("the day's budget is used up, which was said");
    }
    acceptance.subjects.extend(key);
    Ok((fate, acceptance))
}

/// Does it ask for work, and not only for words?
fn begins(acceptance: &Acceptance) -> bool {
    let asks = |entry: &Entry| matches!(entry, Entry::Asked { ask: Ask::Run { .. } | Ask::Retry { .. } });
    acceptance.entries.iter().any(|(_, entry)| asks(entry))
        || acceptance.session.as_ref().is_some_and(|session| !session.state.is_done())
}

/// Somebody who may command, and what they said.
struct Asks<'a> {
    parts: &'a Parts,
    installation: InstallationId,
    holds: Arc<Effective>,
    app: &'a App,
    repository: Repository,
    trigger: &'a Trigger,
    subject: Subject,
    /// The thread's session that is not over.
    live: Option<Summary>,
    /// Its last one.
    last: Option<Summary>,
}

impl Asks<'_> {
    fn request(&self, instruction: String, job: Job) -> Request {
        Request { job, ..Request::run(self.trigger.by.clone(), instruction, self.subject) }
    }

    /// The comment that asks, and where it stands: there it is answered.
    fn spot(&self) -> Option<Spot> {
        Spot::of(self.trigger.number, self.subject)
    }

    /// A comment, or the text of a new issue.
    async fn said(&self) -> Result<Settled, Unsettled> {
        match self.read() {
            Read::Nothing(reason) => Ok(ignored(reason)),
            Read::Mistake(sentence) => self.answer(sentence).await,
            Read::Command(command) => self.follow(command).await,
        }
    }

    fn read(&self) -> Read {
        let reading = Reading {
            word: &self.parts.settings.word,
            app: &self.app.slug,
            on: self.trigger.on,
            live: self.live.as_ref().is_some_and(|s| s.state.is_live()),
        };
        command::read(&self.trigger.text, &reading)
    }

    async fn follow(&self, command: Command) -> Result<Settled, Unsettled> {
        if let Some(sentence) = self.impossible(&command).await? {
            return self.answer(sentence).await;
        }
        let Command { command, instruction, options, not_taken } = command;
        let by = self.trigger.by.clone();
        let wish = |job: Job| Request { options: options.clone(), ..self.request(instruction.clone(), job) };
        let ask = match (command, &self.live) {
            (Word::Run, _) => Ask::Run { request: wish(Job::Run) },
            (Word::Plan, _) => Ask::Run { request: wish(Job::Plan) },
            (Word::Fix, _) => Ask::Run { request: wish(Job::Fix) },
            (Word::Rebase, _) => Ask::Run { request: wish(Job::Rebase) },
            (Word::Review, _) => Ask::Run { request: wish(Job::Review) },
            (Word::Retry, _) => Ask::Retry { request: wish(Job::Run) },
            (Word::Stop, Some(_)) => Ask::Stop { by, at: self.spot() },
            (Word::Stop, None) => return Ok(ignored("nothing runs that could be stopped")),
            (Word::Approve, Some(_)) => Ask::Approve { by, at: self.spot() },
            (Word::Approve, None) => {
                return self.answer("Nothing waits for an approval here.".to_owned()).await;
            }
            (Word::Status, live) => match (live, self.spot()) {
                (Some(_), Some(at)) => Ask::Status { by, at },
                _ => return self.answer(say::idle(&self.parts.settings.word)).await,
            },
            (Word::Help, _) => return self.answer(say::help(&self.parts.settings.word)).await,
        };
        self.give(ask, not_taken).await
    }

    /// The last request of the thread once more.
    fn again(&self, request: Request) -> Request {
        let Some(last) = &self.last else { return request };
        let Request { instruction, job, .. } = last.state.facts.request.clone();
        Request { instruction, job, ..request }
    }

    /// Why a command cannot be followed with its options, as a sentence.
    async fn impossible(&self, command: &Command) -> Result<Option<String>, Unsettled> {
        let (options, cap) = (&command.options, self.holds.limits.rounds);
        if let Some(rounds) = options.rounds.filter(|rounds| !(1..=cap).contains(rounds)) {
            return Ok(Some(format!("`--rounds {rounds}` is not possible here: 1 to {cap} are.")));
        }
        if let Some(model) = &options.model {
            let offered = &self.holds.models;
            if !offered.contains(model) {
                if offered.is_empty() {
                    return Ok(Some("No other model is offered here.".to_owned()));
                }
                let names: Vec<String> = offered.iter().map(|name| format!("`{name}`")).collect();
                return Ok(Some(format!(
                    "That model is not offered here; to choose from: {}.",
                    names.join(", ")
                )));
            }
        }
        if let Some(base) = &options.base {
            if self.live.is_some() || self.trigger.on == command::On::Pull {
                return Ok(Some("`--base` belongs to the first command on an issue.".to_owned()));
            }
            if self.repository.branch(base).await?.is_none() {
                return Ok(Some("There is no such branch as `--base` names.".to_owned()));
            }
        }
        Ok(None)
    }

    /// To the live session, or a new one.
    async fn give(&self, ask: Ask, not_taken: Vec<String>) -> Result<Settled, Unsettled> {
        let told = (!not_taken.is_empty()).then(|| only_the_first(&not_taken));
        match (&self.live, ask) {
            (Some(session), ask) => {
                let by = self.trigger.by.clone();
                let more = told.map(|sentence| Ask::Mistaken { by, sentence, at: self.spot() });
                let all = [Some(ask), more].into_iter().flatten();
                Ok(entries(all.map(|ask| (session.id, Entry::Asked { ask }))))
            }
            (None, Ask::Run { request }) => self.begin(request, told, None).await,
            (None, Ask::Retry { request }) => {
                self.begin(self.again(request), told, self.unfinished().await?).await
            }
            (None, _) => Ok(ignored("no session waits for that")),
        }
    }

    /// The thread's last session, where nothing came of it and what it told stands: asked once more, the same comment goes on.
    async fn unfinished(&self) -> Result<Option<SessionId>, Unsettled> {
        let here = self.trigger.number;
        let came_to_nothing = |last: &&Summary| {
            let facts = &last.state.facts;
            facts.told && facts.pull.is_none() && facts.thread.number == here
        };
        let Some(last) = self.last.as_ref().filter(came_to_nothing) else { return Ok(None) };
        let shown = self.parts.store.shown(last.id).await?;
        let Some(status) = shown.iter().find(|shown| shown.thing == "status") else { return Ok(None) };
        // One that a person took away is none to go on with.
        let Ok(id) = status.remote.parse() else { return Ok(None) };
        Ok(self.repository.comment(CommentId(id)).await?.map(|_| last.id))
    }

    /// A new session for the thread; `before`: it goes on with the status comment of that one.
    async fn begin(
        &self,
        request: Request,
        told: Option<String>,
        before: Option<SessionId>,
    ) -> Result<Settled, Unsettled> {
        let on = self.thread().await?;
        if on.info.archived {
            return Ok(ignored("the repository is archived"));
        }
        let (refusal, to) = (self.refusal(&on), request.asker.login.clone());
        let state = begin::state(self.parts, &self.repository, self.installation, &on, request).await?;
        if let Some(why) = refusal {
            return Ok(made(begin::only_answers(state, why)));
        }
        let (state, mut effects) = state;
        if let Some(text) = told {
            effects.push(Effect::Say {
                message: Message::CannotFollow { text },
                to,
                request_no: 1,
                at: self.spot(),
            });
        }
        if self.trigger.asked == Asked::Label {
            effects.push(Effect::Unlabel { label: self.trigger.text.clone() });
        }
        let new = begin::made(state, effects);
        Ok(made(match before {
            Some(before) => begin::taking_over(before, new),
            None => new,
        }))
    }

    /// Why nothing is begun on a thread as it is.
    fn refusal(&self, on: &On) -> Option<String> {
        let label = &self.holds.labels.opt_out;
        if holds_label(&on.issue.labels, label) {
            return Some(format!(
                "The label `{label}` keeps fixpoint away from here; take it off and ask again."
            ));
        }
        let closed = on.pull.as_ref().is_some_and(|pull| !pull.open);
        closed.then(|| "This pull request is closed; open it again and ask again.".to_owned())
    }

    /// The thread as it is now, but for its words: what was written since somebody asked is not what they asked for.
    async fn thread(&self) -> Result<On, Unsettled> {
        let mut on = On::read(&self.repository, self.trigger.number).await?;
        if let Some((title, body)) = self.trigger.thread.as_ref().filter(|_| !seeded(Fault::TextOfNow)) {
            on.issue.title.clone_from(title);
            on.issue.body.clone_from(body);
        }
        Ok(on)
    }

    /// A sentence for those who may command: through the live session, else a session that is over at once.
    async fn answer(&self, sentence: String) -> Result<Settled, Unsettled> {
        if let Some(session) = &self.live {
            let by = self.trigger.by.clone();
            let ask = Ask::Mistaken { by, sentence, at: self.spot() };
            return Ok(entries([(session.id, Entry::Asked { ask })]));
        }
        let on = self.thread().await?;
        let request = self.request(String::new(), Job::Run);
        let state = begin::state(self.parts, &self.repository, self.installation, &on, request).await?;
        Ok(made(begin::only_answers(state, sentence)))
    }

    /// What a thread's requests are counted under: one count for an issue and its pull request. Deliveries of a thread are
    /// settled one after the other, so none is counted beside another.
    fn counted(&self) -> String {
        let session = self.live.as_ref().or(self.last.as_ref());
        let number = session.map_or(self.trigger.number, |session| session.state.facts.thread.number);
        format!("{ASKED}:{}:{number}:", self.trigger.place.repo.id)
    }

    /// Counts a request; false: the thread had all that it may have in a day.
    async fn counts(&self, acceptance: &mut Acceptance) -> Result<bool, Unsettled> {
        let counted = self.counted();
        let most = u64::from(self.parts.settings.limits.requests_a_day);
        if self.parts.store.subjects_today(&counted).await? >= most {
            return Ok(false);
        }
        acceptance.subjects.push(format!("{counted}{}", uuid::Uuid::now_v7()));
        Ok(true)
    }

    /// That the thread had enough, said once a day.
    async fn enough(&self) -> Result<Settled, Unsettled> {
        let said = format!("{ENOUGH}:{}", self.counted());
        if self.parts.store.subjects_today(&said).await? > 0 {
            return Ok(ignored("the thread had all its requests of a day, which was said"));
        }
        let most = self.parts.settings.limits.requests_a_day;
        let sentence = format!(
            "{most} requests within a day are all that a thread may have here (`limits.requests_a_day`). Nothing is \
             begun; ask again tomorrow."
        );
        let (fate, mut acceptance) = self.answer(sentence).await?;
        acceptance.subjects.push(format!("{said}{}", uuid::Uuid::now_v7()));
        Ok((fate, acceptance))
    }

    /// With the day's money spent whatever begins only says so: once a day on a thread, however often it is asked.
    async fn knows_of_the_budget(&self, acceptance: &mut Acceptance) -> Result<bool, Unsettled> {
        let store = &self.parts.store;
        let spent = store.spent_today(self.installation, self.trigger.place.repo.id).await?;
        let daily = Daily { repository: self.holds.day_micros, ..self.parts.settings.daily };
        if daily.used_up(spent).is_none() {
            return Ok(false);
        }
        // The day is that of the budget.
        let said = format!("{BROKE}:{}:{}", store.now().await?.day(), self.counted());
        if store.subjects_today(&said).await? > 0 {
            return Ok(true);
        }
        acceptance.subjects.push(format!("{said}{}", uuid::Uuid::now_v7()));
        Ok(false)
    }

    /// Our label was put on an issue.
    async fn labelled(&self) -> Result<Settled, Unsettled> {
        match &self.live {
            Some(_) => Ok(ignored("a session is live on it already")),
            None => self.begin(self.request(String::new(), Job::Run), None, None).await,
        }
    }

    /// A button of our check run: whoever presses it needs what a commenter needs.
    async fn pressed(&self) -> Result<Settled, Unsettled> {
        let fix = self.trigger.text == "fix";
        let request = self.request(String::new(), if fix { Job::Fix } else { Job::Run });
        match (&self.live, fix) {
            (Some(session), _) if session.state.is_busy() => Ok(ignored("it is being worked on already")),
            (Some(_), true) => self.give(Ask::Run { request }, Vec::new()).await,
            (Some(_), false) => self.give(Ask::Retry { request }, Vec::new()).await,
            (None, _) => Ok(ignored("the session is over")),
        }
    }

    /// A submitted review. With a command in it, it is that; of a pull request of ours it is a request by itself.
    async fn reviewed(&self, id: u64, at: Timestamp) -> Result<Settled, Unsettled> {
        if !matches!(self.read(), Read::Nothing(_)) {
            return self.said().await;
        }
        let number = self.trigger.number;
        let ours = match &self.live {
            Some(session) => {
                let facts = &session.state.facts;
                facts.guest.is_none() && facts.pull.as_ref().is_some_and(|pull| pull.number == number)
            }
            None => begin::is_ours(&self.repository, &self.repository.pull(number).await?).await?,
        };
        if !ours {
            return Ok(ignored("a review of a pull request that is not fixpoint's"));
        }
        // Its comments may come a moment after it.
        let (wait, age) = (self.parts.settings.limits.review_wait, self.parts.store.now().await?.since(at));
        if age < wait {
            return Err(Unsettled::Early(wait.saturating_sub(age)));
        }
        let comments = self.repository.review_comments(number, id).await?;
        let threads: Vec<LineNote> = comments.into_iter().map(line_note).collect();
        if threads.is_empty() && self.trigger.text.trim().is_empty() {
            return Ok(ignored("a review that says nothing"));
        }
        let request = self.request(self.trigger.text.clone(), Job::Feedback { review: id, threads });
        self.give(Ask::Run { request }, Vec::new()).await
    }
}

fn line_note(comment: ReviewComment) -> LineNote {
    LineNote {
        id: comment.id,
        path: comment.path,
        line: comment.line.or(comment.original_line),
        side: if comment.side == Side::Left { "LEFT" } else { "RIGHT" }.to_owned(),
        hunk: comment.hunk,
        body: comment.body,
        by: comment.author.login,
    }
}

fn only_the_first(not_taken: &[String]) -> String {
    let named: Vec<String> =
        not_taken.iter().take(3).map(|line| format!("`{}`", line.replace('`', "'"))).collect();
    format!("Only the first command of a comment counts; not taken: {}.", named.join(", "))
}
