//! What runs of ours inside the sandbox: the same program, under `fixpoint toolbox …`.

pub mod wire;
