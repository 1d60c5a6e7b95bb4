//! Deliveries on their way to disk: those that wait share one transaction, and with it one `fsync`.
//!
//! Many arrive at once and each must be on disk before its answer; and most of them start nothing, which must be written
//! too. Were each of those a transaction of its own, a delivery would wait for as many `fsync`s as are being settled. So
//! whatever came in while the last batch was written is the next.

use super::{
    Core, Fate, Kept, StoreError, Wakes,
    db::{Tx, run},
    deliveries::settle,
};
use crate::domain::Timestamp;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Writes in one transaction: enough to share an `fsync` well, few enough to be written in a blink.
const BATCH: usize = 256;
/// Writes waiting for one: more than that and the webhook's answer would be late in any case.
const WAITING: usize = 1024;

const KEEP: &str = "INSERT INTO deliveries (guid, event, body, body_hash, at, thread) \
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";

/// The task that writes in batches; ends when the last store is dropped.
#[derive(Clone, Debug)]
pub(super) struct Batcher(mpsc::Sender<Waiting>);

/// A delivery to be kept.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) guid: String,
    pub(super) event: String,
    pub(super) body: Vec<u8>,
    pub(super) hash: String,
    /// Those of one thread are taken up in order.
    pub(super) thread: Option<String>,
}

#[derive(Debug)]
enum Write {
    Keep(Arrived),
    /// Nothing follows from it.
    Settle(String, Fate),
}

#[derive(Debug)]
struct Waiting {
    write: Write,
    answer: oneshot::Sender<Result<Kept, StoreError>>,
}

impl Batcher {
    pub(super) fn start(core: Arc<Core>) -> Self {
        let (sender, mut waiting) = mpsc::channel(WAITING);
        tokio::spawn(async move {
            let mut batch = Vec::new();
            while waiting.recv_many(&mut batch, BATCH).await > 0 {
                write(&core, std::mem::take(&mut batch)).await;
            }
        });
        Self(sender)
    }

    /// On return it is durable.
    pub(super) async fn keep(&self, arrived: Arrived) -> Result<Kept, StoreError> {
        self.write(Write::Keep(arrived)).await
    }

    /// The fate of a delivery from which nothing follows. One that is settled already stays as it is.
    pub(super) async fn settle(&self, guid: &str, fate: &Fate) -> Result<(), StoreError> {
        self.write(Write::Settle(guid.to_owned(), fate.clone())).await.map(|_| ())
    }

    async fn write(&self, write: Write) -> Result<Kept, StoreError> {
        let (answer, written) = oneshot::channel();
        let closed = || StoreError::Database("the store is closed".to_owned());
        self.0.send(Waiting { write, answer }).await.map_err(|_| closed())?;
        written.await.map_err(|_| closed())?
    }
}

/// Writes a batch; if that fails each alone, so that none fails for another's sake. Where the database is out of reach
/// nobody waits for it a second time: a webhook's answer would come too late.
async fn write(core: &Core, batch: Vec<Waiting>) {
    let written = match begin(core).await {
        Ok(tx) => together(core, tx, &batch).await,
        Err(error) => return refuse(batch, &error),
    };
    if let Ok(written) = written {
        for (waiting, written) in batch.into_iter().zip(written) {
            waiting.hear(Ok(written));
        }
        return;
    }
    let mut batch = batch.into_iter();
    while let Some(waiting) = batch.next() {
        match begin(core).await {
            Ok(tx) => {
                let written = together(core, tx, std::slice::from_ref(&waiting)).await;
                waiting.hear(written.map(|one| one.first().copied().unwrap_or(Kept::Duplicate)));
            }
            Err(error) => return refuse(std::iter::once(waiting).chain(batch), &error),
        }
    }
}

impl Waiting {
    /// Who asked may be gone; what is written is written all the same.
    fn hear(self, answer: Result<Kept, StoreError>) {
        let _ = self.answer.send(answer);
    }
}

fn refuse(batch: impl IntoIterator<Item = Waiting>, error: &StoreError) {
    let why = match error {
        StoreError::Database(why) => why.clone(),
        other => other.to_string(),
    };
    for waiting in batch {
        waiting.hear(Err(StoreError::Database(why.clone())));
    }
}

async fn begin(core: &Core) -> Result<Tx, StoreError> {
    core.commits.gate().await;
    core.write.begin().await
}

async fn together(core: &Core, mut tx: Tx, batch: &[Waiting]) -> Result<Vec<Kept>, StoreError> {
    let now = tx.now().await?;
    let mut written = Vec::with_capacity(batch.len());
    for waiting in batch {
        let new = match &waiting.write {
            Write::Keep(arrived) => keep(&mut tx, arrived, now).await?,
            Write::Settle(guid, fate) => settle(&mut tx, guid, fate).await?,
        };
        written.push(if new { Kept::New } else { Kept::Duplicate });
    }
    let came =
        |(waiting, kept): (&Waiting, &Kept)| matches!(waiting.write, Write::Keep(_)) && *kept == Kept::New;
    let wakes = if batch.iter().zip(&written).any(came) { Wakes::Yes } else { Wakes::No };
    core.commits.commit(tx, wakes).await?;
    Ok(written)
}

/// False: it was kept before.
async fn keep(tx: &mut Tx, arrived: &Arrived, now: Timestamp) -> Result<bool, StoreError> {
    let Arrived { guid, event, body, hash, thread } = arrived;
    let rows =
        run!(tx, sqlx::query(KEEP).bind(guid).bind(event).bind(body).bind(hash).bind(now.0).bind(thread))?;
    Ok(rows == 1)
}
