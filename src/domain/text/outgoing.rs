//! Our own text before it is posted: nobody mentioned, nothing closed, never too long.

/// GitHub's limit of a body, in characters. Source: the API's 422 answer, "body is too long (maximum is 65536 characters)".
pub const BODY_LIMIT: usize = 65_536;

/// Text of others (the agent, a log) inside ours: mentions, closing keywords and workflow commands made inert.
pub fn harmless(text: &str) -> String {
    let _ = text;
    todo!()
}

/// At most `limit` characters, cut in the middle with a notice, fences and `<details>` closed.
pub fn cut(body: &str, limit: usize) -> String {
    let _ = (body, limit);
    todo!()
}
