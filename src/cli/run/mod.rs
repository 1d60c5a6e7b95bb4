//! `fixpoint run`: the loop on a clone, with a command as its CI.
//!
//! The server's own parts work as they do for GitHub. The forge is the emulator with the clone's commits; what it pushes is
//! checked by the command, in a sandbox; what comes out of it is a branch in the clone.

mod branch;
mod end;
pub(super) mod follow;
mod forge;
mod place;
mod publish;
mod setup;
pub(super) mod show;

use crate::{
    app::{self, CheckEnd, Note, Runs},
    config,
};
use anyhow::Context;
use clap::ValueEnum;
use follow::Follow;
use forge::{Forge, Told};
use place::Place;
use show::{Line, Show, Tone};
use std::{path::PathBuf, process::ExitCode, time::Duration};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What a shell gives for a command ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// How long the check of the commit that a run starts from is waited for before a model is asked: a command that cannot work
/// at all ends within it, and then nothing was paid.
const BASE_FIRST: Duration = Duration::from_secs(10);

/// How often the session is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// How long a stopped round may take to keep its patch.
const STOPPING: Duration = Duration::from_secs(20);

/// Arguments of `fixpoint run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What is to be done, in your words
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    instruction: String,
    /// The command that must succeed; run by `sh` in a sandbox, in the top folder of each commit
    #[arg(long, value_name = "COMMAND", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    check: String,
    /// The longest that one check may take
    #[arg(long, value_name = "SPAN", default_value = "20m", value_parser = config::span_of)]
    check_timeout: Duration,
    /// The repository: a folder in it, or an address that git can clone
    #[arg(long, value_name = "PATH|URL", default_value = ".")]
    repo: String,
    /// Rounds at most, instead of `limits.rounds`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    rounds: Option<u32>,
    /// The model: anthropic/NAME, openai/NAME or openai-compatible/NAME, instead of the configured one
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<String>,
    /// Where the model is asked, instead of `model.url`
    #[arg(long, value_name = "URL")]
    url: Option<url::Url>,
    /// Where the agent and the check run, instead of `sandbox.kind`; local is no boundary
    #[arg(long, value_enum)]
    sandbox: Option<Sandbox>,
    /// The image of a container, instead of `sandbox.image`
    #[arg(long)]
    image: Option<String>,
    /// Push the branch to `origin` when it is green and open a draft pull request, with the token in GH_TOKEN or GITHUB_TOKEN
    #[arg(long)]
    pr: bool,
    /// One JSON object a line, the last with the outcome
    #[arg(long)]
    json: bool,
    /// The configuration file (else FIXPOINT_CONFIG, else fixpoint.toml if it is here and here is no repository)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Keep what `fixpoint session` shows here instead of in ~/.local/state/fixpoint
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sandbox {
    Docker,
    Local,
}

/// Runs until the check is green, a person is needed, or Ctrl-C. The exit status is 0 when it is green, 1 when it is not.
///
/// # Errors
/// What keeps it from working, and what to do.
pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let stop = interruptions()?;
    let mut config = setup::config(&args).await?;
    let runs = Runs::in_folder(args.state.clone())?;
    let run = runs.begin()?;
    let place = Place::find(&args.repo, &run).await?;
    let publish = match args.pr {
        true => Some(publish::Publish::find(&place, &config).await?),
        false => None,
    };
    setup::within_budgets(&mut config, &runs, &place.name()).await?;
    super::logging::to_file(&run.file("fixpoint.log"), &config.log)?;
    let mut note = Note {
        repository: place.name(),
        instruction: args.instruction.clone(),
        check: args.check.clone(),
        base: place.head.commit.to_string(),
        began: chrono::Utc::now().timestamp_millis(),
        outcome: None,
        branch: None,
        commit: None,
    };
    run.write(&note)?;
    let mut show = Show::new(args.json);
    let done = Box::pin(worked(&args, config, &place, &run, &mut show, &stop)).await;
    run.clear_away();
    if done.is_err() {
        note.outcome = Some("error".to_owned());
        run.write(&note)?;
    }
    let mut end = done?;
    if let Some(publish) = publish {
        end.published(publish.publish(&end, &place).await);
    }
    (note.outcome, note.branch, note.commit) = end.noted();
    run.write(&note)?;
    Ok(end.tell(&mut show, &place, stop.is_cancelled()))
}

/// The run itself; what it leaves besides its end is cleared away by the caller.
async fn worked(
    args: &Args,
    mut config: config::Config,
    place: &Place,
    run: &app::Run,
    show: &mut Show,
    stop: &CancellationToken,
) -> anyhow::Result<end::End> {
    let mut forge = Forge::start(place, run).await?;
    setup::for_forge(&mut config, &forge, run, args.check_timeout);
    let http = app::http_client(config.proxy()?)?;
    let check = (args.check.as_str(), args.check_timeout);
    let at = (forge.git.clone(), forge.id);
    let parts = app::terminal(&config, &http, &place.local, at, check).await?;
    let rounds = config.limits.rounds;
    show.title(&args.instruction);
    place.tell(show);
    show.line(&Line::new("sandbox", setup::sandbox_words(&config), Tone::Plain).event("sandbox"));
    let running = app::start(parts.settings, http).await?;
    let checking = CancellationToken::new();
    let _checking = checking.clone().drop_guard();
    forge.open(place, &running.address.to_string(), &args.check, parts.checker, checking.clone()).await?;
    let store = running.store.clone();
    let outcome = async {
        base_first(args, config.sandbox.kind, &mut forge, show, stop).await?;
        if !stop.is_cancelled() {
            forge.ask(&args.instruction, &args.check, &config.command)?;
        }
        let mut follow = Follow::new(store, rounds);
        let broken = watched(&mut forge, &mut follow, show, stop).await?;
        follow.let_go(STOPPING).await;
        show.status("");
        end::End::of(&follow, place, &forge, run, broken).await
    };
    let outcome = outcome.await;
    show.status("");
    checking.cancel();
    running.stop().await;
    forge.rest().await;
    outcome
}

/// Waits a while for the check of the commit that the run starts from.
async fn base_first(
    args: &Args,
    sandbox: config::Engine,
    forge: &mut Forge,
    show: &mut Show,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    show.status(&format!("checking {} first", forge.base.short()));
    let told = tokio::select! {
        told = forge.told() => told,
        () = tokio::time::sleep(BASE_FIRST) => return Ok(()),
        () = stop.cancelled() => return Ok(()),
    };
    if let Told::Ended { checked, .. } = &told
        && checked.end.is_unusable()
    {
        let words = checked.printed.lines().last().unwrap_or_default();
        let mend = match sandbox {
            config::Engine::Docker => {
                "The image has to hold the programs that it needs: see docs/sandbox-image.md, or --image NAME."
            }
            config::Engine::Local => {
                "It runs in the top folder of the commit, with this machine's programs: is it spelled as a shell wants it, \
                 and what it names in the commit?"
            }
        };
        let words = crate::domain::text::terminal(words);
        anyhow::bail!("the check `{}` cannot be run: {words}\n  {mend}", args.check);
    }
    checked(told, forge, show).map_or(Ok(()), |broken| Err(anyhow::anyhow!(broken)))
}

/// Follows the session until its request is answered; gives why it could not be, where the check itself broke.
async fn watched(
    forge: &mut Forge,
    follow: &mut Follow,
    show: &mut Show,
    stop: &CancellationToken,
) -> anyhow::Result<Option<String>> {
    let mut broken = None;
    let mut asked_to_stop = None;
    loop {
        let told = tokio::select! {
            told = forge.told() => Some(told),
            () = tokio::time::sleep(LOOK) => None,
            () = stop.cancelled(), if asked_to_stop.is_none() => None,
        };
        if let Some(told) = told {
            broken = broken.or(checked(told, forge, show));
        }
        for line in follow.news().await? {
            show.line(&line);
        }
        let Some(session) = follow.session() else {
            match stop.is_cancelled() {
                true => return Ok(broken),
                false => continue,
            }
        };
        if (stop.is_cancelled() || broken.is_some()) && asked_to_stop.is_none() {
            asked_to_stop = Some(tokio::time::Instant::now());
            // At rest already is as good.
            let _ = app::stop(follow.store(), session).await;
        }
        let late = asked_to_stop.is_some_and(|at| at.elapsed() > STOPPING);
        if late || follow.is_at_rest() {
            return Ok(broken);
        }
        if let Some(question) = follow.question().filter(|_| asked_to_stop.is_none()) {
            match show.answer(&question, stop).await {
                Some(answer) => follow.answer(answer).await?,
                None => return Ok(broken),
            }
        }
        show.status(&match asked_to_stop {
            Some(_) => "stopping: what was changed is kept; a second Ctrl-C kills".to_owned(),
            None => follow.status(),
        });
    }
}

/// Tells how a check went; gives why it could not run at all.
fn checked(told: Told, forge: &mut Forge, show: &mut Show) -> Option<String> {
    match told {
        Told::Broken(why) => return Some(why),
        Told::Ended { checked, .. } if checked.end == CheckEnd::Stopped => {}
        Told::Ended { commit, checked, line } => {
            let of_base = commit == forge.base;
            forge.checked.insert(commit, (!checked.end.is_good()).then(|| line.clone()));
            let who = if of_base { "base" } else { "check" };
            let took = show::span(checked.took);
            let (what, tone) = match (checked.end.is_good(), of_base) {
                (true, true) => (format!("green before any change, in {took}"), Tone::Plain),
                (true, false) => (format!("green, in {took}"), Tone::Good),
                (false, true) => (format!("red before any change: {line}"), Tone::Plain),
                (false, false) => (format!("red: {line}"), Tone::Bad),
            };
            let line = Line::new(who, what, tone).event("check");
            let line = line.with("passed", checked.end.is_good()).with("base", of_base);
            show.line(&line.with("seconds", checked.took.as_secs_f64()));
        }
    }
    None
}

/// The first Ctrl-C (or TERM) is a wish, the second an order.
fn interruptions() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let wish = stop.clone();
    let failed = "signals cannot be waited for";
    let mut interrupt = signal(SignalKind::interrupt()).context(failed)?;
    let mut terminate = signal(SignalKind::terminate()).context(failed)?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if wish.is_cancelled() {
                std::process::exit(i32::from(INTERRUPTED));
            }
            wish.cancel();
        }
    });
    Ok(stop)
}
