//! Patterns: regular expressions of ECMA-262 in its Unicode mode, as JSON Schema has them, run by
//! regex-lite in time linear in the text.
//!
//! The two differ in what they write alike: `.`, `\s`, `[]`, `[^]`, `[a&&b]`, `(?i)`, `\x41`,
//! `{,2}`. So a pattern is read here by the rules of ECMA-262, and written anew in the few forms
//! that mean one thing only: every character by its number, every class by its ranges. What
//! regex-lite has no means for is refused by name: look-around, references back to a group,
//! Unicode properties, half a surrogate pair.
//!
//! JSON Schema Core 2020-12, section 6.4, Regular Expressions.

use std::{fmt::Write, iter::Peekable, ops::ControlFlow, str::Chars};

use regex_lite::{Regex, RegexBuilder};

use super::sink::Steps;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    /// As the schema has it.
    pub(super) text: Box<str>,
    regex: Regex,
    /// How many characters and classes it has, repeated ones as often as they are repeated.
    pub(super) size: usize,
}

impl Pattern {
    pub(super) const SIZE_MAX: usize = 10_000;
    /// Characters that are matched in a step, in patterns of the usual size.
    const BYTES_PER_STEP: usize = 64;
    const SIZE_PER_STEP: usize = 64;
    /// Bytes of a compiled pattern: more than any has that is not larger than [`Self::SIZE_MAX`],
    /// but for classes of very many ranges.
    const MEMORY_MAX: usize = 4 << 20;

    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// What is wrong with it, or cannot be done.
    pub(super) fn compile(text: &str) -> Result<Self, String> {
        let mut translator = Translator {
            rest: text.chars().peekable(),
            out: String::new(),
            depth: 0,
        };
        let size = translator.alternatives()?;
        if translator.rest.next().is_some() {
            return Err("has a `)` that closes nothing".to_owned());
        }
        let regex = RegexBuilder::new(&translator.out)
            .size_limit(Self::MEMORY_MAX)
            .nest_limit(4 * Translator::DEPTH_MAX)
            .build()
            .map_err(|error| format!("cannot be compiled: {error}"))?;
        // What it keeps between searches is allocated at the first.
        regex.is_match("");
        Ok(Self {
            text: text.into(),
            regex,
            size,
        })
    }

    /// Whether it matches anywhere in the text.
    pub(super) fn is_match(&self, text: &str, steps: &mut Steps) -> ControlFlow<(), bool> {
        let weight = 1 + self.size / Self::SIZE_PER_STEP;
        let cost = (text.len() / Self::BYTES_PER_STEP).saturating_mul(weight);
        steps.spend(weight.saturating_add(cost))?;
        ControlFlow::Continue(self.regex.is_match(text))
    }

    /// The same, while the schema is compiled.
    pub(super) fn matches_name(&self, name: &str) -> bool {
        self.regex.is_match(name)
    }
}

/// The ranges of a class.
type Ranges = Vec<(char, char)>;

/// One member of a class, or an escape.
enum Member {
    One(char),
    Set(Ranges),
    /// `\b` and `\B`, which are no member of a class.
    Boundary(char),
}

/// Reads a pattern of ECMA-262, and writes one of regex-lite.
struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
    depth: u32,
}

impl Translator<'_> {
    const DEPTH_MAX: u32 = 50;

    /// Alternatives up to the end or the `)` of the group. Returns the size of what it read.
    fn alternatives(&mut self) -> Result<usize, String> {
        let mut size: usize = 0;
        while let Some(&next) = self.rest.peek() {
            match next {
                ')' => break,
                '|' => {
                    self.rest.next();
                    self.out.push('|');
                }
                _ => size = size.saturating_add(self.term()?),
            }
            if size > Pattern::SIZE_MAX {
                return Err(format!("is larger than {}", Pattern::SIZE_MAX));
            }
        }
        Ok(size)
    }

    /// An assertion, or an atom with its quantifier.
    fn term(&mut self) -> Result<usize, String> {
        let size = match self.rest.next() {
            Some(assertion @ ('^' | '$')) => {
                self.out.push(assertion);
                return Ok(1);
            }
            Some('(') => self.group()?,
            Some('[') => self.class()?,
            Some('.') => {
                self.write_class(&complement(&LINE_ENDS));
                1
            }
            Some('\\') => match self.escape()? {
                Member::One(character) => self.write_character(character),
                Member::Set(ranges) => {
                    self.write_class(&ranges);
                    1
                }
                Member::Boundary(letter) => {
                    let _ = write!(self.out, "\\{letter}");
                    return Ok(1);
                }
            },
            Some(quantifier @ ('*' | '+' | '?' | '{')) => {
                return Err(format!("has a `{quantifier}` with nothing to repeat"));
            }
            Some(bracket @ ('}' | ']')) => {
                return Err(format!("has a `{bracket}` that closes nothing"));
            }
            Some(character) => self.write_character(character),
            None => 0,
        };
        self.quantifier(size)
    }

    /// A group, behind its `(`.
    fn group(&mut self) -> Result<usize, String> {
        self.depth += 1;
        if self.depth > Self::DEPTH_MAX {
            return Err(format!("is nested deeper than {}", Self::DEPTH_MAX));
        }
        if self.rest.next_if_eq(&'?').is_some() {
            match self.rest.next() {
                Some(':') => {}
                Some('=' | '!') => return Err("has look-around, which cannot be done".to_owned()),
                Some('<') => self.group_name()?,
                _ => return Err("has a group of a kind that cannot be done".to_owned()),
            }
        }
        // Nothing refers to a group, so none needs to be captured.
        self.out.push_str("(?:");
        let size = self.alternatives()?;
        if self.rest.next().is_none() {
            return Err("has a group that is not closed".to_owned());
        }
        self.out.push(')');
        self.depth -= 1;
        Ok(size)
    }

    fn group_name(&mut self) -> Result<(), String> {
        if self
            .rest
            .next_if(|next| matches!(next, '=' | '!'))
            .is_some()
        {
            return Err("has look-around, which cannot be done".to_owned());
        }
        let mut len = 0;
        loop {
            match self.rest.next() {
                Some('>') if len > 0 => return Ok(()),
                Some(c) if c.is_alphabetic() || matches!(c, '_' | '$') => len += 1,
                Some(c) if c.is_numeric() && len > 0 => len += 1,
                _ => return Err("has a group whose name is none".to_owned()),
            }
        }
    }

    /// The quantifier, if there is one, of an atom of this size. Whether it is greedy makes no
    /// difference to whether the pattern matches.
    fn quantifier(&mut self, size: usize) -> Result<usize, String> {
        let times = match self.rest.peek() {
            Some(&sign @ ('*' | '+' | '?')) => {
                self.rest.next();
                self.out.push(sign);
                1
            }
            Some('{') => {
                self.rest.next();
                self.bounds()?
            }
            _ => return Ok(size),
        };
        self.rest.next_if_eq(&'?');
        // Even what has no size is there so many times.
        let size = size.max(1).saturating_mul(times.max(1));
        if size > Pattern::SIZE_MAX {
            return Err(format!("is larger than {}", Pattern::SIZE_MAX));
        }
        Ok(size)
    }

    /// `2}`, `2,}` or `2,3}`. Returns how often the atom is then there.
    fn bounds(&mut self) -> Result<usize, String> {
        let malformed = || "has a `{` that is no quantifier".to_owned();
        let min = self.decimal().ok_or_else(malformed)?;
        let max = if self.rest.next_if_eq(&',').is_none() {
            Some(min)
        } else {
            self.decimal()
        };
        if self.rest.next() != Some('}') {
            return Err(malformed());
        }
        if max.is_some_and(|max| max < min) {
            return Err(format!(
                "has a quantifier whose bounds are out of order at {min}"
            ));
        }
        let times = max.unwrap_or(min);
        if times > Pattern::SIZE_MAX {
            return Err(format!("is larger than {}", Pattern::SIZE_MAX));
        }
        let _ = match max {
            Some(max) => write!(self.out, "{{{min},{max}}}"),
            None => write!(self.out, "{{{min},}}"),
        };
        Ok(times)
    }

    fn decimal(&mut self) -> Option<usize> {
        let mut value: Option<usize> = None;
        while let Some(digit) = self.rest.peek().and_then(|next| next.to_digit(10)) {
            self.rest.next();
            value = Some(
                value
                    .unwrap_or(0)
                    .saturating_mul(10)
                    .saturating_add(digit as usize),
            );
        }
        value
    }

    /// A class, behind its `[`.
    fn class(&mut self) -> Result<usize, String> {
        let is_negated = self.rest.next_if_eq(&'^').is_some();
        let mut ranges = Ranges::new();
        loop {
            let member = match self.class_member()? {
                None => break,
                Some(member) => member,
            };
            let is_range = self.rest.next_if_eq(&'-').is_some();
            if is_range && self.rest.peek() != Some(&']') {
                let last = self.class_member()?;
                let (Member::One(first), Some(Member::One(last))) = (member, last) else {
                    return Err("has a class with a range that is none".to_owned());
                };
                if first > last {
                    return Err("has a class with a range that is out of order".to_owned());
                }
                ranges.push((first, last));
                continue;
            }
            match member {
                Member::One(character) => ranges.push((character, character)),
                Member::Set(set) => ranges.extend(set),
                Member::Boundary(_) => return Err("has `\\B` in a class".to_owned()),
            }
            if is_range {
                ranges.push(('-', '-'));
            }
        }
        ranges.sort_unstable();
        if is_negated {
            ranges = complement(&ranges);
        }
        self.write_class(&ranges);
        Ok(1)
    }

    /// The next member of a class; `None` at its end.
    fn class_member(&mut self) -> Result<Option<Member>, String> {
        match self.rest.next() {
            None => Err("has a class that is not closed".to_owned()),
            Some(']') => Ok(None),
            Some('\\') => match self.escape()? {
                Member::Boundary('b') => Ok(Some(Member::One('\u{8}'))),
                member => Ok(Some(member)),
            },
            Some(character) => Ok(Some(Member::One(character))),
        }
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<Member, String> {
        let letter = self.rest.next().ok_or("ends in a backslash")?;
        let character = match letter {
            'd' => return Ok(Member::Set(DIGITS.to_vec())),
            'D' => return Ok(Member::Set(complement(&DIGITS))),
            's' => return Ok(Member::Set(SPACES.to_vec())),
            'S' => return Ok(Member::Set(complement(&SPACES))),
            'w' => return Ok(Member::Set(WORDS.to_vec())),
            'W' => return Ok(Member::Set(complement(&WORDS))),
            'b' | 'B' => return Ok(Member::Boundary(letter)),
            't' => '\t',
            'n' => '\n',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'r' => '\r',
            '0' if !self.rest.peek().is_some_and(char::is_ascii_digit) => '\0',
            'c' => match self.rest.next() {
                Some(letter) if letter.is_ascii_alphabetic() => char::from(letter as u8 & 0x1F),
                _ => return Err("has a `\\c` without its letter".to_owned()),
            },
            'x' => scalar(self.hexadecimal(2)?)?,
            'u' => self.code_point()?,
            'p' | 'P' => {
                return Err(format!(
                    "has the Unicode property `\\{letter}`, which cannot be done"
                ));
            }
            '1'..='9' | 'k' => {
                return Err(format!(
                    "has `\\{letter}`, which refers back to a group and cannot be done"
                ));
            }
            // Characters of syntax are; that others are too does no harm, since they can mean
            // nothing else.
            _ if letter.is_ascii_punctuation() => letter,
            _ => return Err(format!("has `\\{letter}`, which means nothing")),
        };
        Ok(Member::One(character))
    }

    /// `0041` or `{1F600}`, or two of the first kind that are a surrogate pair.
    fn code_point(&mut self) -> Result<char, String> {
        if self.rest.next_if_eq(&'{').is_some() {
            let mut value: Option<u32> = None;
            while let Some(digit) = self.rest.peek().and_then(|next| next.to_digit(16)) {
                self.rest.next();
                value = Some(value.unwrap_or(0).saturating_mul(16).saturating_add(digit));
            }
            return match (value, self.rest.next()) {
                (Some(value), Some('}')) => scalar(value),
                _ => Err("has a `\\u{` that names no character".to_owned()),
            };
        }
        let first = self.hexadecimal(4)?;
        if !(0xD800..0xDC00).contains(&first) {
            return scalar(first);
        }
        let is_pair = self.rest.next_if_eq(&'\\').is_some() && self.rest.next_if_eq(&'u').is_some();
        let second = if is_pair { self.hexadecimal(4)? } else { 0 };
        if !(0xDC00..0xE000).contains(&second) {
            return Err(HALF_A_PAIR.to_owned());
        }
        scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    }

    fn hexadecimal(&mut self, digits: usize) -> Result<u32, String> {
        (0..digits).try_fold(0, |value, _| {
            let digit = self.rest.next().and_then(|next| next.to_digit(16));
            digit
                .map(|digit| value * 16 + digit)
                .ok_or_else(|| "has an escape with too few hexadecimal digits".to_owned())
        })
    }

    fn write_character(&mut self, character: char) -> usize {
        let _ = write!(self.out, "\\x{{{:X}}}", u32::from(character));
        1
    }

    fn write_class(&mut self, ranges: &[(char, char)]) {
        if ranges.is_empty() {
            self.out.push_str("[^\\x{0}-\\x{10FFFF}]");
            return;
        }
        self.out.push('[');
        for (first, last) in ranges {
            let (first, last) = (u32::from(*first), u32::from(*last));
            let _ = write!(self.out, "\\x{{{first:X}}}-\\x{{{last:X}}}");
        }
        self.out.push(']');
    }
}

fn scalar(value: u32) -> Result<char, String> {
    char::from_u32(value).ok_or_else(|| HALF_A_PAIR.to_owned())
}

/// All characters that are in none of these ranges, which are in order.
fn complement(ranges: &[(char, char)]) -> Ranges {
    let mut gaps = Ranges::new();
    let mut next = Some('\0');
    for (first, last) in ranges {
        let Some(start) = next else { break };
        if start < *first
            && let Some(end) = before(*first)
        {
            gaps.push((start, end));
        }
        next = after((*last).max(before(start).unwrap_or('\0')));
    }
    if let Some(start) = next {
        gaps.push((start, char::MAX));
    }
    gaps
}

fn before(character: char) -> Option<char> {
    ('\0'..character).next_back()
}

fn after(character: char) -> Option<char> {
    (character..=char::MAX).nth(1)
}

const HALF_A_PAIR: &str = "has half a surrogate pair, which no text has";

const DIGITS: [(char, char); 1] = [('0', '9')];
const WORDS: [(char, char); 4] = [('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
/// `WhiteSpace` and `LineTerminator` of ECMA-262.
const SPACES: [(char, char); 10] = [
    ('\t', '\r'),
    (' ', ' '),
    ('\u{A0}', '\u{A0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200A}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202F}', '\u{202F}'),
    ('\u{205F}', '\u{205F}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{FEFF}', '\u{FEFF}'),
];
const LINE_ENDS: [(char, char); 3] = [('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_ecmascript_means() {
        let many = "b".repeat(1000);
        for (pattern, matched, not_matched) in [
            ("", &["", "a"][..], &[][..]),
            ("a+", &["xxaayy"], &["xxyy"]),
            ("^a*$", &["", "aaa"], &["abc", "a\n", "\na"]),
            ("^a|b$", &["ax", "xb"], &["xa", "bx"]),
            ("^(?:a|b|)c$", &["ac", "c"], &["dc"]),
            ("^(?<name>a)(b)$", &["ab"], &["a"]),
            (
                "^.$",
                &["a", "é", "😀", "\u{85}"],
                &["\n", "\r", "\u{2028}", "\u{2029}", ""],
            ),
            ("^\\d$", &["0"], &["߀", "٣"]),
            ("^\\D$", &["߀"], &["0"]),
            ("^\\w$", &["a", "_"], &["é", "-"]),
            ("^\\W$", &["é"], &["a"]),
            (
                "^\\s$",
                &["\t", "\u{b}", "\u{A0}", "\u{FEFF}", "\u{2003}"],
                &["\u{85}", "\u{200B}"],
            ),
            ("^\\S$", &["\u{85}", "\u{1}"], &["\u{2029}", " "]),
            ("^[\\s\\d]$", &["\u{3000}", "7"], &["a"]),
            ("^[^\\s\\d]$", &["a"], &["\u{3000}", "7"]),
            ("^[\\S]$", &["a"], &["\u{3000}"]),
            ("^[\\W\\w]$", &["a", "\n", "é"], &[""]),
            ("^[^\\W\\w]$", &[], &["a", ""]),
            ("[]", &[], &["", "a", "]"]),
            ("^[^]$", &["a", "\n", "]"], &["", "ab"]),
            ("^[a-c-e]$", &["b", "-", "e"], &["d"]),
            ("^[-a]$", &["-", "a"], &["b"]),
            ("^[a&&b]$", &["a", "&", "b"], &["c"]),
            ("^[[:alpha:]\\]$", &["a]", ":]", "[]"], &["b", "b]"]),
            ("^[+--~~c]$", &["+", ",", "-", "~", "c"], &["d"]),
            ("^[\\b]$", &["\u{8}"], &["b"]),
            ("\\bfoo\\b", &["a foo.", "foo", "éfoo"], &["foot"]),
            ("\\Boo", &["foo"], &["oo"]),
            ("^\\cC\\cz\\0$", &["\u{3}\u{1a}\0"], &["\\cC"]),
            (
                "^\\x41\\u0042\\u{1F600}\\uD83D\\uDE00$",
                &["AB😀😀"],
                &["AB"],
            ),
            ("^[😀-😂]{2}$", &["😁😀"], &["😁"]),
            ("^[\\u0000-\\uFFFF]$", &["é"], &["😀"]),
            ("^a{2}b{1,}c{0,2}$", &["aab", "aabbcc"], &["ab", "aabccc"]),
            ("^a{2,3}?b*?$", &["aa", "aaab"], &["aaaa"]),
            ("^\\/\\-\\.\\@\\\"$", &["/-.@\""], &["a"]),
            ("^a{0}$", &[""], &["a"]),
            ("#a b", &["#a b"], &["a b"]),
            ("^[^\"\\\\]{1,4000}$", &[&many], &["", "\\"]),
            ("^(?:(?:a*)*|\\b)*$", &["aaa", ""], &["b"]),
            (
                "^[\\w.+-]+@[\\w-]+(\\.[\\w-]+)+$",
                &["a.b+c@d-e.org"],
                &["a@b", "é@b.c"],
            ),
        ] {
            let compiled = Pattern::compile(pattern).unwrap();
            for text in matched {
                assert!(compiled.matches_name(text), "{pattern} matches {text:?}");
            }
            for text in not_matched {
                assert!(!compiled.matches_name(text), "{pattern} and {text:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for (pattern, reason) in [
            ("a(?=b)", "look-around"),
            ("a(?!b)", "look-around"),
            ("(?<=a)b", "look-around"),
            ("(?<!a)b", "look-around"),
            ("(a)\\1", "refers back"),
            ("(?<x>a)\\k<x>", "refers back"),
            ("\\p{L}", "Unicode property"),
            ("[\\P{L}]", "Unicode property"),
            ("\\uD800", "surrogate"),
            ("[\\uD800-\\uDBFF]", "surrogate"),
            ("\\u{D800}", "surrogate"),
            ("\\u{110000}", "surrogate"),
            ("(?i)a", "of a kind"),
            ("(?i:a)", "of a kind"),
            ("(?P<x>a)", "of a kind"),
            ("(?<1>a)", "name"),
            ("\\Aa", "means nothing"),
            ("a\\z", "means nothing"),
            ("\\é", "means nothing"),
            ("\\01", "means nothing"),
            ("a{,2}", "no quantifier"),
            ("a{b}", "no quantifier"),
            ("a{2,1}", "out of order"),
            ("a**", "nothing to repeat"),
            ("a++", "nothing to repeat"),
            ("^*", "nothing to repeat"),
            ("\\b+", "nothing to repeat"),
            ("{2}", "nothing to repeat"),
            ("a}", "closes nothing"),
            ("a]", "closes nothing"),
            ("[[:alpha:]]", "closes nothing"),
            ("a)", "closes nothing"),
            ("(a", "not closed"),
            ("[a", "not closed"),
            ("[a-", "not closed"),
            ("[b-a]", "out of order"),
            ("[a-\\d]", "range"),
            ("[\\d-z]", "range"),
            ("[\\B]", "`\\B`"),
            ("a\\", "backslash"),
            ("\\c1", "`\\c`"),
            ("\\x4", "too few"),
            ("\\u004", "too few"),
            ("\\u{}", "names no"),
            ("a{10001}", "larger than"),
            ("(a{100}){101}", "larger than"),
            ("(((a{0,99}){99}){99}){99}", "larger than"),
            ("(()*){10001}", "larger than"),
            ("a{99999999999999999999}", "larger than"),
        ] {
            let error = Pattern::compile(pattern).unwrap_err();
            assert!(error.contains(reason), "{pattern}: {error}");
        }
        let nested = format!("{}a{}", "(".repeat(51), ")".repeat(51));
        assert!(Pattern::compile(&nested).unwrap_err().contains("nested"));
        let nested = format!("{}a{}", "(".repeat(50), ")*".repeat(50));
        assert!(Pattern::compile(&nested).is_ok());
        assert_eq!(
            Pattern::compile("(a{100}|b{99}|.){50}").unwrap().size,
            10_000
        );
    }
}
