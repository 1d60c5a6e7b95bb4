//! What a person pastes: the address that the browser ended at, or the code out of it.

use anyhow::{Context, bail};
use url::Url;

/// The code in it. An address must also bring the state back.
///
/// # Errors
/// A sentence for whoever pasted.
pub(super) fn code(line: &str, state: &str) -> anyhow::Result<String> {
    let line = line.trim();
    if line.is_empty() {
        bail!("nothing was pasted: the address the browser ended at is expected");
    }
    if !line.contains(['/', '?', '=']) {
        return checked(line);
    }
    let url = Url::parse(line).context("what was pasted is neither a code nor an address")?;
    let field =
        |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    if field("state").as_deref() != Some(state) {
        bail!("this address does not belong to this set-up: its state is another; run it again");
    }
    checked(&field("code").context("this address holds no code")?)
}

fn checked(code: &str) -> anyhow::Result<String> {
    let fits = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
    match !code.is_empty() && code.bytes().all(fits) {
        true => Ok(code.to_owned()),
        false => bail!("{code:?} is no code of GitHub's"),
    }
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn an_address_must_bring_the_state_back_and_a_code_may_come_alone() {
        let read = |line: &str| code(line, "s").map_err(|e| e.to_string());
        assert_eq!(read(" c0de\n").unwrap(), "c0de");
        assert_eq!(read("http://127.0.0.1:9/created?code=c0de&state=s").unwrap(), "c0de");
        for wrong in [
            "",
            "http://127.0.0.1:9/created?code=c0de&state=other",
            "http://127.0.0.1:9/created?code=c0de",
            "http://127.0.0.1:9/created?state=s",
            "http://127.0.0.1:9/created?state=s&code=a%2Fb",
            "two words",
            "code=c0de",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
