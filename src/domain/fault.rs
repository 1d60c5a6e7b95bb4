//! Mistakes to be made on purpose: tests seed one and see that it is caught. In a release build there is nothing of it.
//!
//! Where the rule of "never lost, never twice" stands in the code, a probe of one line asks [`seeded`]. A mistake is made
//! on the thread that seeded it alone: such a test runs its server on one thread, and tests beside it are not touched.

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
