//! [`Rust`]: a source file, cut into code, strings and comments.

/// A Rust file.
#[derive(Debug)]
pub(super) struct Rust {
    /// From the root of the workspace.
    pub(super) path: String,
    /// The file with its comments, and what its strings hold, made blank: same lines, same places.
    pub(super) code: String,
    /// The string literals as they are written, each with the line it begins in.
    pub(super) strings: Vec<(usize, String)>,
    /// The comments, a line each.
    pub(super) comments: Vec<(usize, String)>,
    /// The first and last lines of its test modules.
    tests: Vec<(usize, usize)>,
}

impl Rust {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let mut cutter = Cutter {
            text: text.chars().collect(),
            at: 0,
            line: 1,
            code: String::with_capacity(text.len()),
            strings: Vec::new(),
            comments: Vec::new(),
        };
        cutter.cut();
        let all_tests = path.split('/').any(|part| {
            matches!(part, "tests" | "tests.rs" | "benches" | "examples") && path.contains("/src/")
        });
        let tests = if all_tests {
            vec![(0, usize::MAX)]
        } else {
            test_modules(&cutter.code)
        };
        Self {
            path: path.to_owned(),
            code: cutter.code,
            strings: cutter.strings,
            comments: cutter.comments,
            tests,
        }
    }

    /// Whether a line belongs to a test module.
    pub(super) fn is_test(&self, line: usize) -> bool {
        let within = |(first, last): &(usize, usize)| (*first..=*last).contains(&line);
        self.tests.iter().any(within)
    }

    pub(super) fn numbered_code(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.code.lines())
    }

    /// The paths that the file names outside of its tests: those of its imports, one by one, and
    /// those in its code. `self` and `super` at their start are told by where the file lies.
    pub(super) fn paths(&self) -> Vec<(usize, String)> {
        let mut tokens = Tokens {
            tokens: tokens(&self.code),
            at: 0,
        };
        let mut found = Vec::new();
        while let Some((line, token)) = tokens.next() {
            if token == "use" {
                tokens.use_tree(line, &[], &mut found);
            } else if is_name(&token) && tokens.peek() == Some("::") {
                let mut path = vec![token];
                while tokens.peek() == Some("::") && tokens.peek_second().is_some_and(is_name) {
                    tokens.next();
                    path.extend(tokens.next().map(|(_, name)| name));
                }
                found.push((line, path));
            }
        }
        let module = module_of(&self.path);
        found
            .into_iter()
            .filter(|(line, _)| !self.is_test(*line))
            .map(|(line, path)| (line, resolve(&module, path).join("::")))
            .collect()
    }
}

/// Walks a file once and tells code, strings and comments apart.
struct Cutter {
    text: Vec<char>,
    at: usize,
    line: usize,
    code: String,
    strings: Vec<(usize, String)>,
    comments: Vec<(usize, String)>,
}

impl Cutter {
    fn cut(&mut self) {
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('/')) => self.line_comment(),
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.string(),
                ('r', Some('"' | '#')) if !self.is_in_name() => self.raw_string(),
                ('\'', _) => self.quote(),
                _ => self.keep(),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    /// Whether this letter goes on a name: `br"` and `cr"` begin a raw string, `for"` does not.
    fn is_in_name(&self) -> bool {
        let is_part = |back: usize| {
            let at = self.at.checked_sub(back);
            at.is_some_and(|at| self.text[at].is_alphanumeric() || self.text[at] == '_')
        };
        let is_prefix = self.code.ends_with(['b', 'c']) && !is_part(2);
        is_part(1) && !is_prefix
    }

    fn keep(&mut self) {
        let Some(c) = self.peek(0) else { return };
        self.code.push(c);
        self.line += usize::from(c == '\n');
        self.at += 1;
    }

    /// Passes over one character, which leaves a blank in the code.
    fn pass(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.code.push(if c == '\n' { '\n' } else { ' ' });
        self.line += usize::from(c == '\n');
        self.at += 1;
        Some(c)
    }

    fn line_comment(&mut self) {
        let line = self.line;
        let mut text = String::new();
        while self.peek(0).is_some_and(|c| c != '\n') {
            text.extend(self.pass());
        }
        self.comments.push((line, text));
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        let mut text = String::new();
        let mut line = self.line;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => depth += 1,
                (Some('*'), Some('/')) => depth -= 1,
                (Some('\n'), _) => {
                    self.pass();
                    self.comments.push((line, std::mem::take(&mut text)));
                    line = self.line;
                    continue;
                }
                (Some(_), _) => {
                    text.extend(self.pass());
                    continue;
                }
                (None, _) => break,
            }
            text.extend(self.pass());
            text.extend(self.pass());
            if depth == 0 {
                break;
            }
        }
        self.comments.push((line, text));
    }

    fn string(&mut self) {
        let line = self.line;
        let mut text = String::new();
        self.keep();
        while let Some(c) = self.peek(0) {
            if c == '"' {
                self.keep();
                break;
            }
            text.extend(self.pass());
            if c == '\\' {
                text.extend(self.pass());
            }
        }
        self.strings.push((line, text));
    }

    fn raw_string(&mut self) {
        let marks = (1..).take_while(|ahead| self.peek(*ahead) == Some('#'));
        let marks = marks.count();
        if self.peek(1 + marks) != Some('"') {
            // A raw name, such as `r#type`.
            return self.keep();
        }
        let line = self.line;
        let mut text = String::new();
        for _ in 0..marks + 2 {
            self.keep();
        }
        let ends = |cutter: &Self| {
            cutter.peek(0) == Some('"') && (1..=marks).all(|ahead| cutter.peek(ahead) == Some('#'))
        };
        while self.peek(0).is_some() && !ends(self) {
            text.extend(self.pass());
        }
        for _ in 0..=marks {
            self.keep();
        }
        self.strings.push((line, text));
    }

    /// A character, or the tick of a lifetime.
    fn quote(&mut self) {
        self.keep();
        match (self.peek(0), self.peek(1)) {
            (Some('\\'), _) => {
                self.pass();
                self.pass();
                while self.peek(0).is_some_and(|c| c != '\'') {
                    self.pass();
                }
                self.keep();
            }
            (Some(_), Some('\'')) => {
                self.pass();
                self.keep();
            }
            _ => {}
        }
    }
}

struct Tokens {
    tokens: Vec<(usize, String)>,
    at: usize,
}

impl Tokens {
    fn next(&mut self) -> Option<(usize, String)> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(|(_, token)| token.as_str())
    }

    fn peek_second(&self) -> Option<&str> {
        self.tokens
            .get(self.at + 1)
            .map(|(_, token)| token.as_str())
    }

    /// Reads what follows `use`, or one branch of it.
    fn use_tree(&mut self, line: usize, prefix: &[String], found: &mut Vec<(usize, Vec<String>)>) {
        let mut path = prefix.to_vec();
        let mut line = line;
        while let Some(token) = self.peek() {
            if is_name(token) || token == "*" {
                let Some((at, name)) = self.next() else {
                    return;
                };
                line = at;
                if name != "self" || path.is_empty() {
                    path.push(name);
                }
                if self.peek() == Some("::") {
                    continue;
                }
                found.push((line, path));
                if self.peek() == Some("as") {
                    self.at += 2;
                }
                return;
            }
            match token {
                "::" => self.at += 1,
                "{" => {
                    self.at += 1;
                    while self.peek().is_some_and(|token| token != "}") {
                        if self.peek() == Some(",") {
                            self.at += 1;
                        } else {
                            let before = self.at;
                            self.use_tree(line, &path, found);
                            self.at += usize::from(self.at == before);
                        }
                    }
                    self.at += 1;
                    return;
                }
                _ => return,
            }
        }
    }
}

fn tokens(code: &str) -> Vec<(usize, String)> {
    let mut tokens: Vec<(usize, String)> = Vec::new();
    for (line, text) in (1..).zip(code.lines()) {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            let len = if is_part(first) {
                rest.find(|c| !is_part(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            tokens.push((line, rest[..len].to_owned()));
            rest = rest[len..].trim_start();
        }
    }
    tokens
}

fn is_name(token: &str) -> bool {
    token
        .chars()
        .next()
        .is_some_and(|c| c.is_alphabetic() || c == '_')
}

/// The module that a file is, from `crate` on.
fn module_of(path: &str) -> Vec<String> {
    let inner = path.split_once("/src/").map_or(path, |(_, inner)| inner);
    let mut module = vec!["crate".to_owned()];
    for part in inner.trim_end_matches(".rs").split('/') {
        if !matches!(part, "mod" | "lib" | "main") {
            module.push(part.to_owned());
        }
    }
    module
}

fn resolve(module: &[String], path: Vec<String>) -> Vec<String> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let rest = match path.first().map(String::as_str) {
        Some("self") => &path[1..],
        Some("super") => &path[ups..],
        _ => return path,
    };
    let base = &module[..module.len().saturating_sub(ups).max(1)];
    [base, rest].concat()
}

/// The first and last lines of the modules marked `#[cfg(test)]`.
fn test_modules(code: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (start, mark) in code.match_indices("#[cfg(test)]") {
        let item = &code[start + mark.len()..];
        if !item.trim_start().starts_with("mod ") {
            continue;
        }
        let mut depth = 0_usize;
        let end = item.char_indices().find_map(|(at, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            (depth == 0 && matches!(c, '}' | ';')).then_some(at)
        });
        let line_at = |at: usize| 1 + code[..at].matches('\n').count();
        let end = start + mark.len() + end.unwrap_or(item.len());
        found.push((line_at(start), line_at(end)));
    }
    found
}

#[test]
fn code_is_told_from_strings_and_comments() {
    let text = r##"
use std::{fmt, io::{self, Read as _}}; // note
fn f<'a>(x: &'a str) { let c = '"'; g("a\"b", br#"mio::"raw""#); /* one
two */ super::h::<u8>(); }
#[cfg(test)]
mod tests { use mio::Poll; const T: &str = "t"; }
"##;
    let file = Rust::new("engine/src/a/b.rs", text);
    let paths = file.paths();
    let expected = [
        (2, "std::fmt"),
        (2, "std::io"),
        (2, "std::io::Read"),
        (4, "crate::a::h"),
    ];
    assert!(
        paths
            .iter()
            .map(|(line, path)| (*line, path.as_str()))
            .eq(expected),
        "{paths:?}"
    );
    let strings: Vec<&str> = file.strings.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(strings, ["a\\\"b", "mio::\"raw\"", "t"]);
    let comments: Vec<usize> = file.comments.iter().map(|(line, _)| *line).collect();
    assert_eq!(comments, [2, 3, 4]);
    assert!(file.is_test(6) && !file.is_test(4));
}
