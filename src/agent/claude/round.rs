//! A round as the program works on it: what the gateway and the program tell becomes the journal, until there is a last word.

use super::{
    command::{self, Conversation, FINISH, PROGRAM, READ_ONLY},
    ended::{died, end_of, shown, unusable},
    events::{self, CallResult, Event, Last},
    input::{Input, say, told},
    lines::{Lines, Next},
    state,
};
use crate::{
    agent::{
        End, Gateway, Journal, Note, Record, Stop, Turn, failed::failed, finish, history, prompt, tasks,
    },
    domain::session::Spent,
    llm::{
        Message, ModelError, Part, Reply,
        gateway::{Heard, Open},
    },
    sandbox::{Process, Sandbox, SandboxError},
};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::task::AbortOnDropHandle;

/// After its last word the program may be silent for this long before it is taken for one that does not end.
const QUIET: Duration = Duration::from_secs(20);
/// After its end its last output may still be on the way; a child that it left behind may hold it open for ever.
const LINGER: Duration = Duration::from_millis(500);

/// Works on a turn until there is an end.
pub(super) async fn run(
    turn: &Turn,
    (sandbox, gateway): (&dyn Sandbox, &Arc<Gateway>),
    journal: &dyn Journal,
    spent: &mut Spent,
) -> End {
    let deadline = Instant::now() + turn.limits.round;
    let mut round = Round {
        turn,
        sandbox,
        gateway,
        journal,
        spent,
        deadline,
        until: deadline,
        replies: 0,
        calls: HashMap::new(),
        refused: None,
        stopped: None,
        last: None,
    };
    let (Ok(end) | Err(end)) = round.work().await;
    end
}

/// An `Err` is an end too: one that the steps below did not look for.
struct Round<'a> {
    turn: &'a Turn,
    sandbox: &'a dyn Sandbox,
    gateway: &'a Arc<Gateway>,
    journal: &'a dyn Journal,
    spent: &'a mut Spent,
    deadline: Instant,
    /// When waiting ends, where that is before the deadline.
    until: Instant,
    /// Replies of the model in this run.
    replies: u32,
    /// Calls that the gateway has seen and that have no result yet; whether they may change something.
    calls: HashMap<String, bool>,
    /// What the provider did not take.
    refused: Option<ModelError>,
    /// The round is over, and the program may only say its last word.
    stopped: Option<Stop>,
    last: Option<Last>,
}

/// What came of a conversation.
enum Talk {
    Over(End),
    /// The program does not know it.
    Unknown,
}

enum Step {
    Heard(Heard),
    Next(Next),
    Ended(Result<i64, SandboxError>),
    Late,
}

impl Round<'_> {
    async fn work(&mut self) -> Result<End, End> {
        let (task, notes) = self.begin().await?;
        let history = &self.turn.history;
        if let Some((at, id, state)) = state::kept(history)
            && state::put(self.sandbox, id, state).await
        {
            let text = told(&task, &history[at + 1..], &notes);
            if let Talk::Over(end) = self.talk(Conversation::GoesOn(id.to_owned()), &text).await? {
                return Ok(end);
            }
        }
        let id = uuid::Uuid::new_v4().to_string();
        match self.talk(Conversation::New(id), &told(&task, history, &notes)).await? {
            Talk::Over(end) => Ok(end),
            Talk::Unknown => Err(self.broken("knows nothing of a conversation that it began itself")),
        }
    }

    /// Journals what this run begins with. Gives the task, and what came in meanwhile.
    async fn begin(&self) -> Result<(String, Vec<Message>), End> {
        let Message::User { text: mut task } = tasks::task(&self.turn.task) else {
            return Ok(Default::default());
        };
        let resumed = self.turn.resumed && history::start(&self.turn.history).is_some();
        let said = match resumed {
            // The task is in the journal already.
            true => prompt::RESUMED.to_owned(),
            false => task.clone(),
        };
        if resumed {
            task = format!("{task}\n\n{}", prompt::RESUMED);
        }
        let mut messages = Vec::new();
        let mut notes = self.save(Record::Said { message: Message::user(said) }).await?;
        while !notes.is_empty() {
            let message = prompt::notes(&notes);
            messages.push(message.clone());
            notes = self.save(Record::Said { message }).await?;
        }
        Ok((task, messages))
    }

    /// Runs the program on one conversation.
    async fn talk(&mut self, conversation: Conversation, text: &str) -> Result<Talk, End> {
        let mut open = self.gateway.open();
        self.until = self.deadline;
        let system = prompt::system(self.turn, self.sandbox.workspace());
        let system =
            format!("{system}\n\n`finish` is your tool `{FINISH}`: it takes what is said here of `finish`.");
        let tool = finish::tool(&self.turn.task, self.turn.template.is_some());
        let command =
            command::command((self.gateway.name(), &open.token), &conversation, (&system, &tool.schema));
        let started = self.sandbox.exec(command).await.map_err(|error| unusable(&error))?;
        let Process { stdin, stdout, stderr, mut wait } = started;
        let complaints = AbortOnDropHandle::new(tokio::spawn(end_of(stderr)));
        let mut input: Input = Some(stdin);
        say(&mut input, text).await;
        let mut lines = Lines::new(stdout);
        let (mut status, mut silent) = (None, false);
        while !(silent && status.is_some()) || open.is_asking() {
            let step = tokio::select! {
                heard = open.heard() => Step::Heard(heard),
                next = lines.next(), if !silent => Step::Next(next),
                ended = &mut wait, if status.is_none() => Step::Ended(ended),
                () = sleep_until(self.until) => Step::Late,
            };
            match step {
                Step::Heard(heard) => self.heard(heard, &open, &mut input).await?,
                Step::Next(Next::Line(line)) => self.line(&line, &mut input).await?,
                Step::Next(Next::End) => silent = true,
                Step::Next(Next::TooMuch) => {
                    return Err(End::Stopped(Stop::Limit("what the agent's program may print".to_owned())));
                }
                Step::Ended(ended) => {
                    status = Some(ended.map_err(|error| unusable(&error))?);
                    self.until = self.until.min(Instant::now() + LINGER);
                }
                // A reply under way is paid for all the same, and after a last word it may answer what was said late.
                Step::Late if (status.is_some() || self.last.is_some()) && self.waits_for(&open) => {
                    if status.is_some() {
                        open.close();
                    }
                    self.until = self.deadline.min(Instant::now() + LINGER);
                }
                Step::Late if status.is_some() || self.last.is_some() => {
                    // A step may have taken longer than this wait: the last word has come meanwhile.
                    let end = self.deadline.min(Instant::now() + QUIET);
                    while self.last.is_none()
                        && Instant::now() < end
                        && let Ok(Next::Line(line)) = timeout(LINGER, lines.next()).await
                    {
                        self.line(&line, &mut input).await?;
                    }
                    break;
                }
                Step::Late => return Err(self.late()),
            }
        }
        // Whatever it left behind asks nobody any more.
        drop(open);
        let complaint = timeout(LINGER, complaints).await.ok().and_then(Result::ok).unwrap_or_default();
        match self.last.take() {
            Some(last) if !last.error => self.finished(last, conversation.id()).await.map(Talk::Over),
            _ if self.is_unknown(&conversation) => Ok(Talk::Unknown),
            Some(last) => Err(self.broken(&format!("could not go on: {}", shown(&last.text, &complaint)))),
            None => Err(self.broken(&died(status.unwrap_or_default(), &complaint))),
        }
    }

    /// Is a question being asked, and is there time for its reply?
    fn waits_for(&self, open: &Open) -> bool {
        open.is_asking() && Instant::now() < self.deadline
    }

    /// It ended without having asked anything.
    fn is_unknown(&self, conversation: &Conversation) -> bool {
        matches!(conversation, Conversation::GoesOn(_)) && self.replies == 0 && self.refused.is_none()
    }

    /// The gateway tells of a reply or of why there is none.
    async fn heard(&mut self, heard: Heard, open: &Open, input: &mut Input) -> Result<(), End> {
        let (Reply { parts, usage, .. }, micros, go_on) = match heard {
            Heard::Reply { reply, micros, go_on } => (reply, micros, go_on),
            Heard::Refused(error) => {
                self.refused = Some(error);
                return Ok(());
            }
            Heard::Failed(error) => return Err(self.failed(&error)),
        };
        self.replies += 1;
        self.refused = None;
        self.spent.tokens += usage.input + usage.output + usage.cache_read + usage.cache_write;
        self.spent.micros += micros;
        let calls = parts.iter().filter_map(|part| match part {
            Part::Call { id, tool, .. } if tool != FINISH => {
                Some((id.clone(), !READ_ONLY.contains(&tool.as_str())))
            }
            _ => None,
        });
        let before = self.calls.len();
        self.calls.extend(calls);
        let ends = self.calls.len() == before;
        if self.last.is_some() {
            self.until = self.deadline;
        }
        match self
            .journal
            .save(Record::Replied { message: Message::Assistant { parts }, usage, micros })
            .await
        {
            Ok(notes) => {
                let _ = go_on.send(());
                self.tell(notes, input).await
            }
            // Work that is done is not thrown away for it: the program may say so, and asks nothing more.
            Err(stop @ (Stop::Budget(_) | Stop::Limit(_))) if ends || self.last.is_some() => {
                open.close();
                let _ = go_on.send(());
                self.until = self.deadline.min(Instant::now() + QUIET);
                self.stopped = Some(stop);
                Ok(())
            }
            Err(stop) => Err(End::Stopped(stop)),
        }
    }

    /// The program tells something. Of results those count whose calls the gateway has seen.
    async fn line(&mut self, line: &[u8], input: &mut Input) -> Result<(), End> {
        match events::read(line) {
            Event::Results(results) if self.stopped.is_none() => {
                for result in results {
                    self.done(result, input).await?;
                }
            }
            Event::Last(last) => {
                self.last = Some(last);
                *input = None;
                self.until = self.deadline.min(Instant::now() + QUIET);
            }
            Event::Results(_) | Event::Other => {}
        }
        Ok(())
    }

    async fn done(&mut self, result: CallResult, input: &mut Input) -> Result<(), End> {
        let CallResult { call, text, error } = result;
        let Some(touched) = self.calls.remove(&call) else { return Ok(()) };
        let notes = self.save(Record::Done { message: Message::Tool { call, text, error }, touched }).await?;
        self.tell(notes, input).await
    }

    /// Hands over what came in meanwhile.
    async fn tell(&mut self, mut notes: Vec<Note>, input: &mut Input) -> Result<(), End> {
        while !notes.is_empty() {
            let message = prompt::notes(&notes);
            if let Message::User { text } = &message {
                say(input, text).await;
            }
            notes = self.save(Record::Said { message }).await?;
        }
        Ok(())
    }

    async fn finished(&mut self, last: Last, conversation: &str) -> Result<End, End> {
        let end = match last.said.as_ref().map(finish::read) {
            Some(Ok(end)) => end,
            _ => finish::words(&last.text, PROGRAM),
        };
        if let Some(record) = state::take(self.sandbox, conversation).await {
            self.save(record).await?;
        }
        Ok(end)
    }

    async fn save(&self, record: Record) -> Result<Vec<Note>, End> {
        self.journal.save(record).await.map_err(End::Stopped)
    }

    fn late(&mut self) -> End {
        let stop = self.stopped.take();
        let late = || Stop::Limit(format!("{} minutes", self.turn.limits.round.as_secs() / 60));
        End::Stopped(stop.unwrap_or_else(late))
    }

    fn failed(&self, error: &ModelError) -> End {
        failed(error, (self.gateway.name(), self.gateway.host()))
    }

    /// The program ended without a last word that is one.
    fn broken(&mut self, what: &str) -> End {
        match (self.stopped.take(), self.refused.take()) {
            (Some(stop), _) => End::Stopped(stop),
            (None, Some(error)) => self.failed(&error),
            (None, None) => End::Failed(format!("`{PROGRAM}` in the sandbox {what}")),
        }
    }
}
