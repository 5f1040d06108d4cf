//! Matching URIs against templates: RFC 6570 up to level 3.
//!
//! A template is cut into steps, and a URI is matched in two passes over a table of a bit for each
//! step and each place in the URI. The first, from the end, finds out from where on the rest of
//! the steps can match the rest of the URI; the second, from the start, takes of every variable
//! the shortest value from which the rest still matches. There is no way back to try, so the time
//! is the length of the URI times the number of steps, whoever chose the URI.
//!
//! ```text
//!   f://{+path}{?q,r}   Literal "f://"  Value path  Query ? q,r
//!   f://{x,y}{/z}       Literal "f://"  Value x  [ Literal ","  Value y ]  [ Literal "/"  Value z ]
//! ```
//!
//! What is in brackets may be missing, since an undefined variable expands to nothing. What a
//! value may hold after it was decoded is in [`uri_value`](super::uri_value).

use super::uri_value::{Slashes, decode, parameters};

/// URIs with more bytes match no template, which bounds the table: it is twice what RFC 9110 asks
/// servers to take at least.
const URI_BYTES_MAX: usize = 16 * 1024;

/// A parsed template.
#[derive(Clone, Debug)]
pub(crate) struct UriTemplate {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    what: What,
    /// Where to go on if this step and those up to there are left out.
    otherwise: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Literal(String),
    /// One or more characters.
    Value {
        name: String,
        set: Set,
    },
    /// `;name` or `;name=value`.
    Parameter {
        name: String,
    },
    /// Nothing, or parameters from this character on.
    Query {
        start: u8,
        names: Vec<String>,
    },
}

/// The characters that a value is made of, before it is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// Those within a segment.
    Segment,
    /// All there are.
    All,
}

impl UriTemplate {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut steps = Vec::new();
        let mut rest = text;
        let mut after_expression = false;
        while !rest.is_empty() {
            let (literal, tail) = rest.split_at(rest.find(['{', '}']).unwrap_or(rest.len()));
            if !literal.is_empty() {
                steps.push(Step::new(What::Literal(literal.to_owned())));
                after_expression = false;
            }
            let Some(expression) = tail.strip_prefix('{') else {
                if tail.is_empty() {
                    break;
                }
                return Err("a `}` has no `{`");
            };
            let (expression, tail) = expression.split_once('}').ok_or("a `{` has no `}`")?;
            parse_expression(expression, after_expression, &mut steps)?;
            after_expression = true;
            rest = tail;
        }
        let template = Self { steps };
        let names: Vec<&str> = template.variables().collect();
        if names.is_empty() {
            return Err("it has no variable");
        }
        if (1..names.len()).any(|index| names[..index].contains(&names[index])) {
            return Err("a variable is there twice");
        }
        Ok(template)
    }

    /// The names of the variables, in their order.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        let names = self.steps.iter().flat_map(|step| match &step.what {
            What::Literal(_) => &[],
            What::Value { name, .. } | What::Parameter { name } => std::slice::from_ref(name),
            What::Query { names, .. } => names.as_slice(),
        });
        names.map(String::as_str)
    }

    /// The values of the variables that the URI has, if it matches.
    pub(crate) fn matches(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        if uri.len() > URI_BYTES_MAX || !self.may_match(uri) {
            return None;
        }
        let reach = Reach::of(&self.steps, uri.as_bytes());
        if !reach.has(0, 0) {
            return None;
        }
        let mut values = Vec::new();
        let (mut index, mut at) = (0, 0);
        while let Some(step) = self.steps.get(index) {
            // A step is left out only where taking it leads nowhere.
            let Some(end) = step.end(uri.as_bytes(), at, reach.row(index + 1)) else {
                index = step.otherwise?;
                continue;
            };
            step.read(uri.get(at..end)?, &mut values)?;
            (index, at) = (index + 1, end);
        }
        Some(values)
    }

    /// Whether the URI begins with the literal that the template begins with: most that do not
    /// match are told by that alone.
    fn may_match(&self, uri: &str) -> bool {
        match self.steps.first().map(|step| &step.what) {
            Some(What::Literal(literal)) => uri.starts_with(literal.as_str()),
            _ => true,
        }
    }
}

/// Cuts what stands between the braces into steps.
fn parse_expression(
    expression: &str,
    after_expression: bool,
    steps: &mut Vec<Step>,
) -> Result<(), &'static str> {
    let operator = expression.bytes().next();
    let operator = operator.filter(|byte| b"+#./;?&".contains(byte));
    let names = &expression[usize::from(operator.is_some())..];
    if after_expression && matches!(operator, None | Some(b'+')) {
        return Err("two expressions stand side by side with nothing to tell them apart");
    }
    let names: Vec<String> = names.split(',').map(str::to_owned).collect();
    if !names.iter().all(|name| is_name(name)) {
        return Err("an expression is not an operator of level 3 or none, and names");
    }
    match operator {
        Some(start @ (b'?' | b'&')) => steps.push(Step::new(What::Query { start, names })),
        Some(b';') => {
            for name in names {
                let otherwise = Some(steps.len() + 1);
                let what = What::Parameter { name };
                steps.push(Step { what, otherwise });
            }
        }
        _ => push_values(operator, names, steps),
    }
    Ok(())
}

/// Values with their separators. Which of them are missing cannot be told, so it is the last.
fn push_values(operator: Option<u8>, names: Vec<String>, steps: &mut Vec<Step>) {
    let (first, separator, set) = match operator {
        Some(b'+') => ("", ",", Set::All),
        Some(b'#') => ("#", ",", Set::All),
        Some(b'.') => (".", ".", Set::Segment),
        Some(b'/') => ("/", "/", Set::Segment),
        _ => ("", ",", Set::Segment),
    };
    let start = steps.len();
    let count = names.len();
    let literals = usize::from(!first.is_empty()) + count - 1;
    let end = start + count + literals;
    for (index, name) in names.into_iter().enumerate() {
        let literal = if index == 0 { first } else { separator };
        if !literal.is_empty() {
            steps.push(Step {
                what: What::Literal(literal.to_owned()),
                otherwise: Some(end),
            });
        }
        steps.push(Step::new(What::Value { name, set }));
    }
}

fn is_name(name: &str) -> bool {
    // Parts of letters, digits and underlines, with dots between them.
    name.split('.')
        .all(|part| !part.is_empty() && part.bytes().all(is_name_byte))
}

impl Step {
    fn new(what: What) -> Self {
        Self {
            what,
            otherwise: None,
        }
    }

    /// Where this step may begin, given where the next one may: written into `row`.
    fn fill(&self, uri: &[u8], next: &[bool], row: &mut [bool]) {
        if let What::Literal(literal) = &self.what {
            for (at, bit) in row.iter_mut().enumerate() {
                *bit = uri[at..].starts_with(literal.as_bytes()) && next[at + literal.len()];
            }
            return;
        }
        // Whether the next step may begin behind so many characters of a value, or none.
        let mut behind = vec![false; uri.len() + 2];
        for at in (0..=uri.len()).rev() {
            behind[at] = next[at] || (at < uri.len() && self.has(uri[at]) && behind[at + 1]);
        }
        for (at, bit) in row.iter_mut().enumerate() {
            *bit = match self.value_start(uri, at) {
                Some(Start::Value(start)) => {
                    start < uri.len() && self.has(uri[start]) && behind[start + 1]
                }
                Some(Start::Optional { without, value }) => {
                    next[without] || value.is_some_and(|value| behind[value])
                }
                None => false,
            };
        }
    }

    /// Where this step ends that begins here: the nearest place where the next one may begin.
    fn end(&self, uri: &[u8], at: usize, next: &[bool]) -> Option<usize> {
        if let What::Literal(literal) = &self.what {
            let end = at + literal.len();
            return (uri[at..].starts_with(literal.as_bytes()) && next[end]).then_some(end);
        }
        let mut end = match self.value_start(uri, at)? {
            Start::Value(start) => {
                if !self.has(*uri.get(start)?) {
                    return None;
                }
                start + 1
            }
            Start::Optional { without, .. } if next[without] => return Some(without),
            Start::Optional { value, .. } => value?,
        };
        while !next[end] {
            if !self.has(*uri.get(end)?) {
                return None;
            }
            end += 1;
        }
        Some(end)
    }

    /// Where the value begins of a step that begins here.
    fn value_start(&self, uri: &[u8], at: usize) -> Option<Start> {
        match &self.what {
            What::Literal(_) => None,
            What::Value { .. } => Some(Start::Value(at)),
            What::Parameter { name } => {
                let rest = uri[at..]
                    .strip_prefix(b";")?
                    .strip_prefix(name.as_bytes())?;
                let without = uri.len() - rest.len();
                let value = (rest.first() == Some(&b'=')).then_some(without + 1);
                Some(Start::Optional { without, value })
            }
            What::Query { start, .. } => {
                let value = (uri.get(at) == Some(start)).then_some(at + 1);
                Some(Start::Optional { without: at, value })
            }
        }
    }

    /// Whether a value may hold this byte, before it is decoded.
    fn has(&self, byte: u8) -> bool {
        match &self.what {
            What::Literal(_) => false,
            What::Value { set: Set::All, .. } => true,
            What::Value { .. } => !b"/?#".contains(&byte),
            What::Parameter { .. } => !b"/?#;".contains(&byte),
            What::Query { .. } => byte != b'#',
        }
    }

    /// Reads the values in the piece of the URI that the step stands for.
    fn read<'a>(&'a self, piece: &str, values: &mut Vec<(&'a str, String)>) -> Option<()> {
        match &self.what {
            What::Literal(_) => {}
            What::Value { name, set } => {
                let slashes = match set {
                    Set::Segment => Slashes::Refused,
                    Set::All => Slashes::Allowed,
                };
                values.push((name, decode(piece, slashes)?));
            }
            What::Parameter { name } => {
                let value = piece.split_once('=').map_or("", |(_, value)| value);
                values.push((name, decode(value, Slashes::Refused)?));
            }
            What::Query { names, .. } if !piece.is_empty() => {
                for (name, value) in parameters(&piece[1..]) {
                    let name = names.iter().find(|known| *known == name)?;
                    if values.iter().any(|(given, _)| given == name) {
                        return None;
                    }
                    values.push((name, decode(value, Slashes::Allowed)?));
                }
            }
            What::Query { .. } => {}
        }
        Some(())
    }
}

/// Where the value of a step begins.
enum Start {
    /// Here, and it has a character at least.
    Value(usize),
    /// The step may end at `without`, or have a value from `value` on, which may be empty.
    Optional {
        without: usize,
        value: Option<usize>,
    },
}

/// For each step and each place in the URI, whether the steps from there on can match the rest.
struct Reach {
    bits: Vec<bool>,
    width: usize,
}

impl Reach {
    fn of(steps: &[Step], uri: &[u8]) -> Self {
        let width = uri.len() + 1;
        let mut bits = vec![false; (steps.len() + 1) * width];
        bits[steps.len() * width + uri.len()] = true;
        for (index, step) in steps.iter().enumerate().rev() {
            let (rows, below) = bits.split_at_mut((index + 1) * width);
            let row = &mut rows[index * width..];
            step.fill(uri, &below[..width], row);
            if let Some(otherwise) = step.otherwise {
                let other = &below[(otherwise - index - 1) * width..][..width];
                for (bit, other) in row.iter_mut().zip(other) {
                    *bit |= *other;
                }
            }
        }
        Self { bits, width }
    }

    fn row(&self, step: usize) -> &[bool] {
        &self.bits[step * self.width..][..self.width]
    }

    fn has(&self, step: usize, at: usize) -> bool {
        self.row(step)[at]
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'%'
}

#[cfg(test)]
#[path = "uri_template_tests.rs"]
mod tests;
