//! The values of a template's variables: percent-decoded, and fit to be used in a path.
//!
//! Specification: `server/resources`, Security Considerations: servers must validate all URIs and
//! prevent directory traversal. So a value has no segment that is `.` or `..`, no backslash, which
//! is a slash on some systems, and no NUL, which ends a path on others: however it was spelled,
//! since all of this is looked at after decoding, which happens once.

/// Whether a value may hold slashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slashes {
    /// It may.
    Allowed,
    /// It stands for one segment.
    Refused,
}

/// The value that was spelled like this. `None` if it is not to be had, or is not fit.
pub(super) fn decode(text: &str, slashes: Slashes) -> Option<String> {
    let value = percent_decode(text)?;
    let leads_out = value.contains(['\\', '\0'])
        || (slashes == Slashes::Refused && value.contains('/'))
        || value
            .split('/')
            .any(|segment| matches!(segment, "." | ".."));
    (!leads_out).then_some(value)
}

/// The parameters of a query, without its first character: names and values as they are spelled.
pub(super) fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query
        .split('&')
        .map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")))
}

/// Decodes `%XX`. `None` if an escape is cut off or the result is not UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let value = digit()? * 16 + digit()?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
