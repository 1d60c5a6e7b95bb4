//! Our own engine: limits, ask, act, save, and again. What it knows between two steps is the journal and nothing else.

use super::{
    End, Engine, Journal, Outcome, Record, Stop, Turn, Workspace, caps, compaction,
    failed::failed,
    finish,
    history::{self, Block, Call, FINISH},
    prompt, tasks,
    tools::{Called, Toolbox, touches},
};
use crate::domain::session::Spent;
use crate::llm::{Ask, Message, Model, ModelError, Reply, Tool};
use tokio::time::{Instant, timeout_at};

/// How often in a row the model is reminded to call something before its words are taken as its end.
const NUDGES: usize = 2;
/// Replies in a row of which no call could even be tried: past this the model does not know what it does.
const NONSENSE: u32 = 5;

/// The engine.
pub(super) struct Native {
    model: Box<dyn Model>,
    others: Vec<Box<dyn Model>>,
}

impl Native {
    pub(super) fn new(model: Box<dyn Model>, others: Vec<Box<dyn Model>>) -> Self {
        Self { model, others }
    }

    /// The model that a turn names; its own where that is not to be had any more.
    fn model_for(&self, turn: &Turn) -> &dyn Model {
        let mut others = self.others.iter();
        &**others.find(|model| turn.model.as_deref() == Some(model.name())).unwrap_or(&self.model)
    }
}

#[async_trait::async_trait]
impl Engine for Native {
    async fn run(&self, turn: &Turn, workspace: &Workspace<'_>, journal: &dyn Journal) -> Outcome {
        let mut spent = Spent::default();
        let toolbox = match Toolbox::open(workspace.sandbox).await {
            Ok(toolbox) => toolbox,
            Err(why) => return Outcome { end: End::Stopped(Stop::Broken(why)), spent },
        };
        let mut round = Round {
            model: self.model_for(turn),
            turn,
            journal,
            system: prompt::system(turn, workspace.sandbox.workspace()),
            tools: toolbox
                .tools()
                .iter()
                .cloned()
                .chain([finish::tool(&turn.task, turn.template.is_some())])
                .collect(),
            toolbox,
            records: turn.history.clone(),
            deadline: Instant::now() + turn.limits.round,
            resumed: false,
            nonsense: 0,
            spent: &mut spent,
        };
        let (Ok(end) | Err(end)) = round.work().await;
        drop(round);
        Outcome { end, spent }
    }

    fn describe(&self) -> String {
        format!("native, {} at {}", self.model.name(), self.model.host())
    }

    fn models(&self) -> Vec<String> {
        [&self.model].into_iter().chain(&self.others).map(|model| model.name().to_owned()).collect()
    }
}

/// A round as it runs. An `Err` is an end too: one that the steps below did not look for.
struct Round<'a> {
    model: &'a dyn Model,
    turn: &'a Turn,
    journal: &'a dyn Journal,
    system: String,
    tools: Vec<Tool>,
    toolbox: Toolbox,
    records: Vec<Record>,
    deadline: Instant,
    /// The model is yet to be told that the round goes on in a new sandbox.
    resumed: bool,
    nonsense: u32,
    spent: &'a mut Spent,
}

impl Round<'_> {
    async fn work(&mut self) -> Result<End, End> {
        self.begin().await?;
        loop {
            let mut cut = false;
            if history::open(self.of_round()).is_none() {
                self.within_limits()?;
                cut = self.ask().await?;
            }
            if let Some(end) = self.act(cut).await? {
                return Ok(end);
            }
        }
    }

    /// The records of this round.
    fn of_round(&self) -> &[Record] {
        &self.records[history::start(&self.records).unwrap_or(0)..]
    }

    /// Says the task, unless an interrupted round has it already.
    async fn begin(&mut self) -> Result<(), End> {
        self.resumed = self.turn.resumed && history::start(&self.records).is_some();
        if self.resumed { Ok(()) } else { self.say(tasks::task(&self.turn.task)).await }
    }

    fn within_limits(&self) -> Result<(), End> {
        let limits = &self.turn.limits;
        if history::steps(self.of_round()) >= limits.steps {
            return Err(End::Stopped(Stop::Limit(format!("{} steps", limits.steps))));
        }
        if Instant::now() >= self.deadline { Err(self.late()) } else { Ok(()) }
    }

    fn late(&self) -> End {
        End::Stopped(Stop::Limit(format!("{} minutes", self.turn.limits.round.as_secs() / 60)))
    }

    /// Asks the model and journals its reply before anything follows from it. Gives whether the reply was cut.
    async fn ask(&mut self) -> Result<bool, End> {
        let resumed = Message::user(prompt::RESUMED);
        let told = matches!(self.records.last(), Some(Record::Said { message }) if *message == resumed);
        if std::mem::take(&mut self.resumed) && !told {
            self.say(resumed).await?;
        }
        let Reply { parts, usage, cut } = self.reply().await?;
        let micros = self.model.price(&usage).unwrap_or(0);
        self.spent.tokens += usage.input + usage.output + usage.cache_read + usage.cache_write;
        self.spent.micros += micros;
        self.save(Record::Replied { message: Message::Assistant { parts }, usage, micros }).await?;
        Ok(cut)
    }

    /// The model's reply to the conversation; where that proves too long, to a shorter version of it.
    async fn reply(&self) -> Result<Reply, End> {
        let reserved = self.system.len()
            + self
                .tools
                .iter()
                .map(|tool| tool.description.len() + tool.schema.to_string().len())
                .sum::<usize>();
        let context = self.model.context().min(caps::CONTEXT);
        let max_tokens = caps::REPLY_TOKENS.min(u32::try_from(context / 4).unwrap_or(u32::MAX));
        let room = compaction::room(context, max_tokens, reserved);
        let mut last = None;
        for room in [room, room / 2, room / 4] {
            let messages = compaction::compact(history::messages(&self.records), room);
            let ask = Ask { system: &self.system, messages: &messages, tools: &self.tools, max_tokens };
            match timeout_at(self.deadline, self.model.ask(&ask)).await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(error @ ModelError::TooLong(_))) => last = Some(error),
                Ok(Err(error)) => return Err(self.failed(&error)),
                Err(_) => return Err(self.late()),
            }
        }
        Err(last.map_or_else(|| self.late(), |error| self.failed(&error)))
    }

    fn failed(&self, error: &ModelError) -> End {
        failed(error, (self.model.name(), self.model.host()))
    }

    /// Does what the last reply calls for. Gives the round's end, where that is it.
    async fn act(&mut self, cut: bool) -> Result<Option<End>, End> {
        let Some(block) = history::open(self.of_round()) else { return Ok(None) };
        let calls = block.calls();
        if calls.is_empty() {
            return self.nudge(cut).await;
        }
        let open: Vec<_> = calls.iter().filter(|call| !block.is_done(&call.id)).cloned().collect();
        let (finish, others): (Vec<_>, Vec<_>) = open.into_iter().partition(|call| call.tool == FINISH);
        let mut tried = others.is_empty();
        for call in &others {
            tried |= self.carry_out(call).await?;
        }
        self.nonsense = if tried { 0 } else { self.nonsense + 1 };
        if self.nonsense >= NONSENSE {
            return Err(End::Failed(format!(
                "{} called only tools that do not exist or cannot take what it gave, {NONSENSE} times in a row",
                self.model.name()
            )));
        }
        match finish.first() {
            Some(call) => self.finish(call).await,
            None => Ok(None),
        }
    }

    /// Carries a call out and journals what came of it. Gives whether it could be tried.
    async fn carry_out(&mut self, call: &Call) -> Result<bool, End> {
        let called = timeout_at(self.deadline, self.toolbox.call(&call.tool, &call.arguments)).await;
        let (text, error, tried) = match called.map_err(|_| self.late())? {
            Called::Answered { text, error } => (text, error, true),
            Called::Nonsense(why) => (why, true, false),
            Called::Dead(why) => {
                // Journalled first, so that a new sandbox is not ended by the same call again.
                self.done(call, prompt::DIED.to_owned(), true, false).await?;
                return Err(End::Stopped(Stop::Broken(why)));
            }
        };
        self.done(call, text, error, tried && touches(&call.tool)).await?;
        Ok(tried)
    }

    /// The model ends the round. Not when something came up that it has not seen: a note, or a call of the same reply that failed.
    async fn finish(&mut self, call: &Call) -> Result<Option<End>, End> {
        let (followed, failed) = history::last(self.of_round())
            .map_or((false, false), |block| (block.is_followed(), block.has_failed()));
        if followed {
            return Ok(None);
        }
        let refusal = if failed {
            Some("not finished: a call before it in the same reply failed; look at it first")
        } else {
            None
        };
        match (refusal, finish::read(&call.arguments)) {
            (None, Ok(end)) => Ok(Some(end)),
            (Some(why), _) | (None, Err(why)) => {
                self.done(call, why.to_owned(), true, false).await?;
                Ok(None)
            }
        }
    }

    /// The reply called nothing: it is reminded, and when that does not help its words are taken as its end.
    async fn nudge(&mut self, cut: bool) -> Result<Option<End>, End> {
        if history::idle(self.of_round()) <= NUDGES {
            self.say(Message::user(if cut { prompt::CUT } else { prompt::IDLE })).await?;
            return Ok(None);
        }
        let text = history::last(self.of_round()).map(|block: Block<'_>| block.text()).unwrap_or_default();
        Ok(Some(finish::words(&text, self.model.name())))
    }

    async fn done(&mut self, call: &Call, text: String, error: bool, touched: bool) -> Result<(), End> {
        self.save(Record::Done { message: Message::Tool { call: call.id.clone(), text, error }, touched })
            .await
    }

    async fn say(&mut self, message: Message) -> Result<(), End> {
        self.save(Record::Said { message }).await
    }

    /// Commits a record, and with it the notes that the host gives back for it.
    async fn save(&mut self, record: Record) -> Result<(), End> {
        let mut next = Some(record);
        while let Some(record) = next.take() {
            let notes = self.journal.save(record.clone()).await.map_err(End::Stopped)?;
            self.records.push(record);
            next = (!notes.is_empty()).then(|| Record::Said { message: prompt::notes(&notes) });
        }
        Ok(())
    }
}
