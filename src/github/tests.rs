//! Against small servers that misbehave as GitHub does.
