//! What fixpoint serves.
