//! The listener and the webhook, spoken to over raw sockets.
