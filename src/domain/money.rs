//! Money as people write it: `$5`, `$0.25`, a plain number of dollars. Kept in millionths, without rounding.

/// Millionths of a dollar; `None` for anything but dollars with at most six decimals.
pub fn micros(text: &str) -> Option<u64> {
    let text = text.trim();
    let text = text.strip_prefix('$').unwrap_or(text).trim_start();
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 6 {
        return None;
    }
    let dollars: u64 = whole.parse().ok()?;
    let part: u64 = format!("{decimals:0<6}").parse().ok()?;
    dollars.checked_mul(1_000_000)?.checked_add(part)
}

/// `$2.50`, rounded down to cents.
pub fn dollars(micros: u64) -> String {
    let cents = micros / 10_000;
    format!("${}.{:02}", cents / 100, cents % 100)
}
