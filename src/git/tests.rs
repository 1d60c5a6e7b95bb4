//! Against real git servers.
