//! Somebody asks for something: are they allowed, what is it, and which session does it belong to?

use super::{Settled, Unsettled, ignored, of_thread};
use crate::{
    domain::{
        Effect, Entry, Phase, SessionId, State,
        command::{self, Command, Options, Read, Reading, Word},
        delivery::{Asked, Trigger},
        say,
        session::{self, Ask, Message, Outcome, Request, Start, Subject, Thread},
        trust::Permission,
    },
    github::{App, Issue, Repository, RepositoryInfo},
    store::{Acceptance, Fate, NewSession, Summary},
    work::Parts,
};

/// A branch name taken by something older gets a number; past this many the operator has another problem.
const NAMES: u32 = 50;

/// Settles a trigger.
pub(super) async fn settle(parts: &Parts, app: &App, trigger: Trigger) -> Result<Settled, Unsettled> {
    let (subject, key) = match &trigger.asked {
        Asked::Body => (Subject::Body, format!("body:{}:{}", trigger.place.repo.id, trigger.number)),
        Asked::Comment(id) => (Subject::Comment(*id), format!("comment:{id}")),
        Asked::Label | Asked::Review(_) | Asked::Button { .. } => {
            return Ok(ignored("labels, reviews and buttons start nothing in this version"));
        }
    };
    let Some(installation) = trigger.place.installation else {
        return Ok(ignored("it came through no installation of the App"));
    };
    let repository = parts.github.repository(installation, &trigger.place.repo);
    // Strangers get silence: nothing is written, nothing is shown.
    if !repository.permission(&trigger.by).await?.may_command() {
        return Ok(ignored("the sender has no write access"));
    }
    let sessions = Sessions::of(parts, &trigger).await?;
    let reading = Reading {
        word: &parts.settings.word,
        app: &app.slug,
        on: trigger.on,
        live: sessions.live.as_ref().is_some_and(|s| s.state.is_live()),
    };
    let asks = Asks { parts, repository, trigger: &trigger, subject };
    let (fate, mut acceptance) = match command::read(&trigger.text, &reading) {
        Read::Nothing(reason) => return Ok(ignored(reason)),
        Read::Mistake(sentence) => asks.answer(&sessions, sentence).await?,
        Read::Command(command) => asks.follow(&sessions, command).await?,
    };
    acceptance.subjects.push(key);
    Ok((fate, acceptance))
}

/// The sessions of the thread.
struct Sessions {
    /// The one that is not over.
    live: Option<Summary>,
    /// The last one.
    last: Option<Summary>,
}

impl Sessions {
    async fn of(parts: &Parts, trigger: &Trigger) -> Result<Self, Unsettled> {
        let (repo, number) = (trigger.place.repo.id, trigger.number);
        let live = of_thread(parts, repo, number).await?;
        Ok(Self { live, last: parts.store.latest_of_thread(repo, number).await? })
    }
}

/// Somebody who may command, and what they said.
struct Asks<'a> {
    parts: &'a Parts,
    repository: Repository,
    trigger: &'a Trigger,
    subject: Subject,
}

impl Asks<'_> {
    async fn follow(&self, sessions: &Sessions, command: Command) -> Result<Settled, Unsettled> {
        if command.options != Options::default() {
            let sentence = "`--model`, `--rounds` and `--base` are not there yet; without them it works.";
            return self.answer(sessions, sentence.to_owned()).await;
        }
        let by = self.trigger.by.clone();
        let request = |instruction: String| Request { asker: by.clone(), instruction, source: self.subject };
        let ask = match (command.command, &sessions.live) {
            (Word::Run, _) => Ask::Run { request: request(command.instruction) },
            (Word::Retry, Some(_)) => Ask::Retry { request: request(String::new()) },
            (Word::Retry, None) => {
                let before = sessions.last.as_ref().map(|s| s.state.facts.request.instruction.clone());
                Ask::Run { request: request(before.unwrap_or_default()) }
            }
            (Word::Stop, Some(_)) => Ask::Stop { by },
            (Word::Stop, None) => return Ok(ignored("nothing runs that could be stopped")),
            (Word::Approve, Some(_)) => Ask::Approve { by },
            (Word::Approve, None) => {
                return self.answer(sessions, "Nothing waits for an approval here.".to_owned()).await;
            }
            (Word::Help, _) => return self.answer(sessions, help(&self.parts.settings.word)).await,
            (word, _) => {
                let word = format!("{word:?}").to_lowercase();
                let help = help(&self.parts.settings.word);
                return self.answer(sessions, format!("`{word}` is not there yet. {help}")).await;
            }
        };
        match (&sessions.live, ask) {
            (Some(session), ask) => Ok(entry(session.id, Entry::Asked { ask })),
            (None, Ask::Run { request }) => self.begin(request).await,
            (None, _) => Ok(ignored("no session waits for that")),
        }
    }

    /// A new session for the thread.
    async fn begin(&self, request: Request) -> Result<Settled, Unsettled> {
        let (info, issue) =
            (self.repository.info().await?, self.repository.issue(self.trigger.number).await?);
        if issue.is_pull {
            let why = "Pull requests of people are not there yet; ask on an issue.".to_owned();
            return self.only_answer(request, info, issue, why).await;
        }
        if info.archived {
            return Ok(ignored("the repository is archived"));
        }
        let (state, effects) = self.state(request, &info, &issue).await?;
        Ok(made(state, effects))
    }

    /// A sentence for those who may command: through the live session, else a session that is over at once.
    async fn answer(&self, sessions: &Sessions, sentence: String) -> Result<Settled, Unsettled> {
        let request =
            Request { asker: self.trigger.by.clone(), instruction: String::new(), source: self.subject };
        if let Some(session) = &sessions.live {
            let by = self.trigger.by.clone();
            return Ok(entry(session.id, Entry::Asked { ask: Ask::Mistaken { by, sentence } }));
        }
        let (info, issue) =
            (self.repository.info().await?, self.repository.issue(self.trigger.number).await?);
        self.only_answer(request, info, issue, sentence).await
    }

    async fn only_answer(
        &self,
        request: Request,
        info: RepositoryInfo,
        issue: Issue,
        sentence: String,
    ) -> Result<Settled, Unsettled> {
        let to = request.asker.login.clone();
        let (mut state, _) = self.state(request, &info, &issue).await?;
        state.phase = Phase::Done { outcome: Outcome::NothingToChange { why: sentence.clone() } };
        let message = Message::CannotFollow { text: sentence };
        Ok(made(state, vec![Effect::Say { message, to, request_no: 1 }]))
    }

    async fn state(
        &self,
        request: Request,
        info: &RepositoryInfo,
        issue: &Issue,
    ) -> Result<(State, Vec<Effect>), Unsettled> {
        let trusted = self.repository.permission(&issue.author).await.is_ok_and(Permission::may_command);
        let body = match self.trigger.asked {
            // As it was when it was opened: a later edit changes nothing.
            Asked::Body => self.trigger.text.clone(),
            _ => issue.body.clone(),
        };
        let from = Start {
            installation: self.trigger.place.installation.unwrap_or(crate::domain::InstallationId(0)),
            repo: info.repo.clone(),
            public: !info.private,
            thread: Thread { number: issue.number, title: issue.title.clone(), body, trusted },
            request,
            base: info.default_branch.clone(),
            branch: self.free_branch(issue).await?,
        };
        let now = self.parts.store.now().await?;
        Ok(session::start(from, now))
    }

    /// A branch that is not there yet: an older session may have left its own behind.
    async fn free_branch(&self, issue: &Issue) -> Result<String, Unsettled> {
        let name = say::branch(issue.number, &issue.title);
        for n in 1..NAMES {
            let name = if n == 1 { name.clone() } else { format!("{name}-{n}") };
            if self.repository.branch(&name).await?.is_none() {
                return Ok(name);
            }
        }
        Ok(format!("{name}-{}", uuid::Uuid::new_v4().simple()))
    }
}

fn entry(session: SessionId, entry: Entry) -> Settled {
    let entries = vec![(session, entry)];
    (Fate::Taken("given to its session"), Acceptance { entries, ..Acceptance::default() })
}

fn made(state: State, effects: Vec<Effect>) -> Settled {
    let id = SessionId(uuid::Uuid::now_v7());
    let session = Some(NewSession { id, state, effects });
    (Fate::Taken("a session was made"), Acceptance { session, ..Acceptance::default() })
}

fn help(word: &str) -> String {
    format!(
        "On an issue: `/{word}` does what the issue says, `/{word} <instruction>` does that, `/{word} retry` tries once more, \
         `/{word} stop` ends it, `/{word} approve` answers what waits for a yes."
    )
}
