//! The frames between host and toolbox: length-prefixed, capped, never "to the end of the stream".
//!
//! Every byte of a stream may be the agent's: readers are capped and believe nothing.

/// One changed path of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The file is there with this content.
    File {
        /// Relative, `/`-separated; not yet checked.
        path: String,
        /// 0o100644, 0o100755 or 0o120000.
        mode: u32,
        /// Its bytes (for a symbolic link its target).
        bytes: Vec<u8>,
    },
    /// The path is gone.
    Removed {
        /// Relative, `/`-separated; not yet checked.
        path: String,
    },
}
