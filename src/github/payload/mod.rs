//! Webhook payloads, read leniently: unknown fields and values are kept, never fatal.
