//! Checks answers: by bytes where it can, as JSON where it must.
//!
//! ```text
//!             id at the place where the last one stood,          yes
//!   line ──▶ a call in flight, and head and tail as learnt? ───────────▶ right
//!                            │ no
//!                            ▼
//!            parsed as JSON: a response to a call in flight,     yes
//!                     and its result as the rule has it?   ────────────▶ right, learnt
//!                            │ no
//!                            ▼
//!         wrong, duplicate, unknown; or a notification or a request of the server
//! ```
//!
//! The first answer to each request of the workload goes the long way; it is cut at its id, and
//! from then on an answer costs two comparisons of bytes. A server that changes the order of its
//! members or its spacing is slower to check, and never wrong for it.

use memchr::memmem::Finder;
use serde_json::{Value, json};

use super::{
    expect::{Rule, excerpt},
    in_flight::{ID_DIGITS, InFlight, Slot, read_id},
};

/// What a line from the server is.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The right answer to a call in flight.
    Right { id: u64, slot: Slot },
    /// A wrong answer to a call in flight.
    Wrong { id: u64, why: String },
    /// An answer to a call that had one, or was given up.
    Duplicate(String),
    /// Nothing that belongs into the conversation.
    Unknown(String),
    /// A notification: passed over.
    Notification,
    /// A request of the server, and what to say to it.
    Request(Value),
}

/// Knows the right answer to every request of the workload.
#[derive(Debug)]
pub(super) struct Answers {
    entries: Vec<Entry>,
    /// The distance of the last id learnt from the start of its line, and from the end.
    head_bytes: usize,
    tail_bytes: usize,
}

#[derive(Debug)]
struct Entry {
    rule: Rule,
    learnt: Option<Learnt>,
    /// The first right result, where the rule compares with it.
    first: Option<Value>,
}

/// A right answer with the id cut out.
#[derive(Debug)]
struct Learnt {
    head: Box<[u8]>,
    tail: Box<[u8]>,
}

impl Answers {
    pub(super) fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        let entry = |rule| Entry {
            rule,
            learnt: None,
            first: None,
        };
        Self {
            entries: rules.into_iter().map(entry).collect(),
            head_bytes: 0,
            tail_bytes: 0,
        }
    }

    /// The short way: the id of the call that this answers, if it is byte for byte the answer
    /// that was learnt.
    #[inline]
    pub(super) fn quick(&self, line: &[u8], calls: &InFlight) -> Option<(u64, Slot)> {
        let from_end = line.len().checked_sub(self.tail_bytes + ID_DIGITS)?;
        self.quick_at(self.head_bytes, line, calls).or_else(|| {
            // Where answers differ, an id that comes last keeps its distance from the end.
            if from_end == self.head_bytes {
                return None;
            }
            self.quick_at(from_end, line, calls)
        })
    }

    #[inline]
    fn quick_at(&self, at: usize, line: &[u8], calls: &InFlight) -> Option<(u64, Slot)> {
        let id = read_id(line.get(at..)?)?;
        let slot = calls.find(id)?;
        let learnt = self.entries[slot.entry as usize].learnt.as_ref()?;
        (*learnt.head == line[..at] && *learnt.tail == line[at + ID_DIGITS..]).then_some((id, slot))
    }

    /// The long way.
    pub(super) fn full(&mut self, line: &[u8], calls: &InFlight) -> Verdict {
        let shown = || excerpt(&String::from_utf8_lossy(line));
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return Verdict::Unknown(format!("no JSON: {}", shown()));
        };
        if let Some(verdict) = from_server(&message) {
            return verdict;
        }
        let Some(id) = message["id"].as_u64() else {
            return Verdict::Unknown(format!("no id of ours: {}", shown()));
        };
        let Some(slot) = calls.find(id) else {
            return if calls.was_sent(id) {
                Verdict::Duplicate(format!("a second or late answer: {}", shown()))
            } else {
                Verdict::Unknown(format!("no id of ours: {}", shown()))
            };
        };
        let entry = &mut self.entries[slot.entry as usize];
        if let Err(why) = entry.rule.check(&message, entry.first.as_ref()) {
            let why = format!("{why}; the answer: {}", shown());
            return Verdict::Wrong { id, why };
        }
        self.learn(slot.entry, id, line, message);
        Verdict::Right { id, slot }
    }

    fn learn(&mut self, entry: u32, id: u64, line: &[u8], mut message: Value) {
        let entry = &mut self.entries[entry as usize];
        if entry.rule == Rule::Same && entry.first.is_none() {
            entry.first = Some(message["result"].take());
        }
        let digits = id.to_string();
        let finder = Finder::new(&digits);
        let mut places = finder.find_iter(line);
        // Digits that stand twice in the line cannot be told apart by bytes.
        if let (Some(at), None) = (places.next(), places.next()) {
            self.head_bytes = at;
            self.tail_bytes = line.len() - at - ID_DIGITS;
            entry.learnt = Some(Learnt {
                head: line[..at].into(),
                tail: line[at + ID_DIGITS..].into(),
            });
        }
    }
}

/// What a message that is no response is.
pub(super) fn from_server(message: &Value) -> Option<Verdict> {
    let method = message.get("method")?;
    let Some(id) = message.get("id") else {
        return Some(Verdict::Notification);
    };
    Some(Verdict::Request(if method == "ping" {
        json!({"jsonrpc": "2.0", "id": id, "result": {}})
    } else {
        let error = json!({"code": -32601, "message": "a load driver serves nothing"});
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(id: u64) -> Vec<u8> {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1,"b":[2]}}}}"#).into_bytes()
    }

    #[test]
    fn learnt_once_then_compared_by_bytes() {
        let mut calls = InFlight::new(8);
        let mut answers = Answers::new([Rule::Same]);
        let id = calls.start(0, 0);
        assert!(answers.quick(&right(id), &calls).is_none());
        assert!(matches!(
            answers.full(&right(id), &calls),
            Verdict::Right { .. }
        ));
        let next = calls.start(0, 0);
        assert_eq!(
            answers.quick(&right(next), &calls).map(|(id, _)| id),
            Some(next)
        );
        assert!(answers.quick(&right(next + 1), &calls).is_none());
        let mut damaged = right(next);
        for index in 0..damaged.len() {
            damaged[index] ^= 1;
            let found = answers.quick(&damaged, &calls).map(|(found, _)| found);
            assert!(found.is_none_or(|found| found != next), "byte {index}");
            damaged[index] ^= 1;
        }
    }

    #[test]
    fn order_and_spacing_do_not_matter() {
        let mut calls = InFlight::new(8);
        let mut answers = Answers::new([Rule::Same]);
        let id = calls.start(0, 0);
        answers.full(&right(id), &calls);
        let other =
            format!(r#"{{ "result": {{"b": [2.0], "a": 1}}, "id": {id}, "jsonrpc":"2.0" }}"#);
        assert!(matches!(
            answers.full(other.as_bytes(), &calls),
            Verdict::Right { .. }
        ));
        let id = calls.start(0, 0);
        let other = other.replace(&(id - 1).to_string(), &id.to_string());
        assert!(answers.quick(other.as_bytes(), &calls).is_some());
    }

    #[test]
    fn the_long_way_tells_what_is_wrong() {
        let mut calls = InFlight::new(8);
        let mut answers = Answers::new([Rule::Same]);
        let id = calls.start(0, 0);
        answers.full(&right(id), &calls);
        let mut full = |line: &str| format!("{:?}", answers.full(line.as_bytes(), &calls));
        let wrong = String::from_utf8(right(id)).unwrap().replace("[2]", "[3]");
        assert!(full(&wrong).contains("result.b[0] is 3, not 2"));
        assert!(full("Listening on stdio").starts_with("Unknown"));
        assert!(full(r#"{"jsonrpc":"2.0","id":1999999999,"result":{}}"#).starts_with("Unknown"));
        assert!(full(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#).starts_with("Unknown"));
        assert_eq!(
            full(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#),
            "Notification"
        );
        assert!(full(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).contains("result"));
        assert!(full(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#).contains("-32601"));
        calls.finish(id);
        assert!(matches!(
            answers.full(&right(id), &calls),
            Verdict::Duplicate(_)
        ));
    }

    #[test]
    fn an_id_at_the_end_of_answers_of_different_length() {
        let mut calls = InFlight::new(8);
        let mut answers = Answers::new([Rule::Same, Rule::Same]);
        let line = |id: u64, text: &str| {
            format!(r#"{{"result":{{"text":"{text}"}},"jsonrpc":"2.0","id":{id}}}"#).into_bytes()
        };
        for (entry, text) in [(0, "short"), (1, "a longer one")] {
            let id = calls.start(entry, 0);
            answers.full(&line(id, text), &calls);
        }
        for (entry, text) in [(0, "short"), (1, "a longer one")] {
            let id = calls.start(entry, 0);
            assert!(answers.quick(&line(id, text), &calls).is_some());
        }
    }
}
