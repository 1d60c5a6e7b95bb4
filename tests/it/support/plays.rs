//! Replies of the scripted model, as short as what they say.

use fixpoint::emulator::Play;
use serde_json::json;

/// Replaces the one place where `old` stands.
pub fn edit(path: &str, old: &str, new: &str) -> Play {
    Play::call("edit", json!({ "path": path, "old": old, "new": new }))
}

/// Writes a whole file.
pub fn write(path: &str, content: &str) -> Play {
    Play::call("write", json!({ "path": path, "content": content }))
}

/// Runs a command.
pub fn shell(command: &str) -> Play {
    Play::call("shell", json!({ "command": command }))
}

/// Says it is done.
pub fn finish(summary: &str) -> Play {
    Play::call("finish", json!({ "summary": summary }))
}

/// Asks a person.
pub fn ask(question: &str) -> Play {
    Play::call("finish", json!({ "summary": "", "question": question }))
}

/// Says that what is still red has nothing to do with the request.
pub fn outside(summary: &str, why: &str) -> Play {
    Play::call("finish", json!({ "summary": summary, "outside_request": why }))
}
