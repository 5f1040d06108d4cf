//! Times, sizes and counts as people write and read them.

use std::time::Duration;

/// Reads `250us`, `10ms`, `3s`, `2m`; a number alone is seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 5] = [
        ("ns", 1e-9),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
    ];
    let (number, unit) = split(text);
    let unit = if unit.is_empty() { "s" } else { unit };
    let scale = UNITS.iter().find(|(name, _)| *name == unit);
    let seconds = scale.and_then(|(_, scale)| Some(number.parse::<f64>().ok()? * scale));
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "a time is a number and ns, us, ms, s or m".to_owned())
}

/// Reads `100`, `64K`, `16M`, `1G`; the units are powers of 1024.
pub(crate) fn parse_bytes(text: &str) -> Result<usize, String> {
    let (number, unit) = split(text);
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return Err("a size is a number and K, M or G".to_owned()),
    };
    let number: usize = number
        .parse()
        .map_err(|_| "a size is a whole number".to_owned())?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| "too large".to_owned())
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// A time given in microseconds.
pub(crate) fn time(us: f64) -> String {
    match us {
        _ if us >= 1e6 => format!("{} s", digits(us / 1e6)),
        _ if us >= 1e3 => format!("{} ms", digits(us / 1e3)),
        _ => format!("{} us", digits(us)),
    }
}

/// A size.
pub(crate) fn bytes(bytes: f64) -> String {
    match bytes {
        _ if bytes >= 1024.0 * 1024.0 * 1024.0 => format!("{} GiB", digits(bytes / 1073741824.0)),
        _ if bytes >= 1024.0 * 1024.0 => format!("{} MiB", digits(bytes / 1048576.0)),
        _ if bytes >= 1024.0 => format!("{} KiB", digits(bytes / 1024.0)),
        _ => format!("{} B", digits(bytes)),
    }
}

/// A count or a rate: `1.04 M`, `15.6 k`, `312`.
pub(crate) fn count(value: f64) -> String {
    match value {
        _ if value >= 1e6 => format!("{} M", digits(value / 1e6)),
        _ if value >= 1e4 => format!("{} k", digits(value / 1e3)),
        _ => digits(value),
    }
}

/// Three significant digits, or all before the point.
pub(crate) fn digits(value: f64) -> String {
    let places = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.0995 || size == 0.0 => 2,
        size if size >= 0.00995 => 3,
        _ => 4,
    };
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_as_people_write() {
        assert_eq!(parse_duration("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(parse_duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2 m"), Ok(Duration::from_secs(120)));
        assert!(parse_duration("fast").is_err() && parse_duration("-1s").is_err());
        assert_eq!(parse_bytes("64K"), Ok(65_536));
        assert_eq!(parse_bytes("1MiB"), Ok(1_048_576));
        assert!(parse_bytes("1.5K").is_err() && parse_bytes("99999999999G").is_err());
    }

    #[test]
    fn shown_as_people_read() {
        assert_eq!(time(0.29), "0.29 us");
        assert_eq!(time(5_612.0), "5.61 ms");
        assert_eq!(time(1_000.0), "1 ms");
        assert_eq!(count(1_043_210.0), "1.04 M");
        assert_eq!(count(312.4), "312");
        assert_eq!(bytes(1_887_436.8), "1.8 MiB");
        assert_eq!(digits(0.0), "0");
        assert_eq!(digits(0.0312), "0.031");
    }
}
