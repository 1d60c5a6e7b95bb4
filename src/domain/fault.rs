//! Mistakes to be made on purpose: tests seed one and see that it is caught. In a release build there is nothing of it.
//!
//! Where the rule of "never lost, never twice" stands in the code, and where something is guarded against an attacker, a
//! probe of one line asks [`seeded`]. A mistake is made on the thread that seeded it alone (and on those it sends work
//! [`along`] to): such a test runs its server on one thread, and tests beside it are not touched.

/// A rule left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Writes of a session are not fenced by its epoch.
    Unfenced,
    /// A push is recorded before it is made.
    PushRecordedFirst,
    /// A pull request is not looked for before one is opened.
    PullBlindly,
    /// A comment is not looked for before it is written.
    CommentBlindly,
    /// What GitHub shows is not read back.
    NotReadBack,
    /// A push carries no exact old id, and is forced.
    PushForced,
    /// A delivery is answered before it is stored.
    AnsweredFirst,
    /// A delivery's id and its bytes are no key.
    GuidIgnored,
    /// What a delivery is about is no key.
    SubjectIgnored,
    /// A round is not counted where it begins.
    RoundUncounted,
    /// A status is written whether or not it differs.
    StatusUnhashed,
    /// A sandbox outlives the lease it was made under.
    SandboxKept,
    /// A model's reply is not journalled before the next one is asked for.
    ReplyForgotten,
    /// No mistake, but what one looks like from outside: every once-effect is performed twice.
    ActsTwice,

    // Guards against an attacker, each left off.
    /// Everybody may command.
    AnybodyHeard,
    /// Permission is not asked again before a push.
    PermissionOnce,
    /// A thread is taken as it reads when it is read, and not as it read when somebody asked.
    TextOfNow,
    /// Text reaches the model as it came.
    HiddenKept,
    /// The agent's words are posted as they are.
    WordsAsTheyAre,
    /// The agent's words are not searched for secrets before anything is made of them.
    WordsUnread,
    /// Nor is what goes to GitHub, whatever it is made of.
    WordsLetOut,
    /// A change is not searched for secrets.
    SecretsUnseen,
    /// `.github/` is pushed like anything else.
    WorkflowsPushed,
    /// Links out of the tree are pushed.
    LinksPushed,
    /// Weaker tests are not looked for.
    WeakerUnflagged,
    /// Nobody is asked about what CI would hand out.
    NeverAsked,
    /// A path is taken from a sandbox as it comes.
    PathsBelieved,
    /// A frame may be as long as it says it is.
    FramesUncapped,
    /// No budget ends a round.
    Unbounded,
    /// Every destination counts as allowed.
    EverythingAllowed,
    /// An address is not looked at before it is dialled.
    AddressesUnseen,
    /// The hosts of connection, TLS and request may differ.
    NamesMayDiffer,
    /// What proves who asks goes on to the destination.
    CredentialsPassed,
}

#[cfg(debug_assertions)]
thread_local! {
    static SEEDED: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
}

/// Makes the mistake on this thread from now on; `None`: no more.
#[cfg(debug_assertions)]
pub fn seed(fault: Option<Fault>) {
    SEEDED.set(fault);
}

/// Is the mistake to be made?
#[cfg(debug_assertions)]
pub fn seeded(fault: Fault) -> bool {
    SEEDED.get() == Some(fault)
}

/// A release build makes no mistake on purpose.
///
/// # Panics
/// When asked to: a test that needs one would pass for nothing.
#[cfg(not(debug_assertions))]
pub fn seed(fault: Option<Fault>) {
    assert!(fault.is_none(), "mistakes are made by debug builds alone: run this test without --release");
}

/// Never: this is a release build.
#[cfg(not(debug_assertions))]
pub const fn seeded(_: Fault) -> bool {
    false
}

/// Work for another thread, where it makes the mistake of this one.
#[cfg(debug_assertions)]
pub fn along<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let fault = SEEDED.get();
    move || {
        let before = SEEDED.replace(fault);
        let done = work();
        SEEDED.set(before);
        done
    }
}

/// Work for another thread.
#[cfg(not(debug_assertions))]
pub fn along<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    work
}
