//! JSON that does not come in a line: schemas, what an author wrote, what a model wrote.

use tightwire_codec::{LINE_PADDING, Line, Parser, Value};

/// Reads a text as JSON.
///
/// # Errors
///
/// That it is none, or what `read` says.
pub(crate) fn with_root<T>(
    text: &str,
    read: impl FnOnce(Value<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(text.len() + LINE_PADDING, 0);
    let mut line = Line::padded(&mut bytes, text.len()).ok_or("it is too long")?;
    let mut parser = Parser::default();
    let document = parser
        .parse(&mut line)
        .map_err(|error| format!("it is not JSON: {error}"))?;
    read(document.root())
}
