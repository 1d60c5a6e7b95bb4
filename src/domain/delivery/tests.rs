//! Deliveries sorted.
