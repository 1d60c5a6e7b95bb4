//! Foreign JSON is looked at before it is read: each of its values takes tens of bytes of memory, however short it is.

/// Has a JSON text more than so many values? Counted by what stands before each, so a long text within it counts too.
pub fn is_crowded(json: &[u8], most: usize) -> bool {
    json.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count() > most
}
