//! Composition root: configuration becomes running parts.
