//! Requests of the modern era that are like one that was admitted before.
//!
//! Everything that such a request needs for being admitted is in its line, and a client's lines are
//! like earlier ones. Where one differs from the line that it is like in its id, in what its method
//! is about and in its progress token alone, the bytes which say what it is are the very bytes that
//! were admitted, and it is not looked at again.
//!
//! ```text
//!   {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{…},"_meta":{…}}}
//!                        └ may differ                              └───┴─ may differ ─┘
//! ```

use tightwire_codec::{Document, Id, Likeness, Message};

use super::modern;
use crate::protocol::{
    meta::{self, Meta},
    method::Method,
    params::Params,
    version::Era,
};

/// What was found of lines that others are like.
#[derive(Debug, Default)]
pub(super) struct AdmittedLines {
    lines: Vec<AdmittedLine>,
    /// The next to give way.
    oldest: usize,
}

#[derive(Debug)]
struct AdmittedLine {
    number: u64,
    /// `None` if what is like it is to be looked at in full.
    request: Option<Places>,
}

/// A request that was admitted, and where in its line its parts stand.
#[derive(Debug)]
struct Places {
    method: Method,
    id: usize,
    params: usize,
    meta: usize,
    /// Of the members that may differ.
    name: Option<usize>,
    uri: Option<usize>,
    progress_token: Option<usize>,
    /// And the place behind them.
    arguments: Option<(usize, usize)>,
}

/// A request that is admitted.
pub(super) struct Admitted<'a> {
    pub(super) id: Id<'a>,
    pub(super) method: Method,
    pub(super) params: Params<'a>,
}

impl AdmittedLines {
    /// The request, if it is like one that was admitted.
    #[inline]
    pub(super) fn find<'a>(
        &self,
        document: &'a Document<'_>,
        likeness: Likeness<'_>,
    ) -> Option<Admitted<'a>> {
        self.known(likeness)?
            .request
            .as_ref()?
            .read(document, likeness)
    }

    /// Takes in a line that is like another, once it has been served: the next one like it may be
    /// found. Of as many as there may be, it takes the place of the oldest.
    #[inline]
    pub(super) fn learn(&mut self, document: &Document<'_>, likeness: Likeness<'_>, max: usize) {
        if self.known(likeness).is_none() {
            self.add(document, likeness, max);
        }
    }

    #[inline]
    fn known(&self, likeness: Likeness<'_>) -> Option<&AdmittedLine> {
        self.lines
            .iter()
            .find(|line| line.number == likeness.line())
    }

    #[cold]
    fn add(&mut self, document: &Document<'_>, likeness: Likeness<'_>, max: usize) {
        let line = AdmittedLine {
            number: likeness.line(),
            request: Places::find(document, likeness),
        };
        if self.lines.len() < max {
            return self.lines.push(line);
        }
        self.oldest = (self.oldest + 1) % max.max(1);
        if let Some(oldest) = self.lines.get_mut(self.oldest) {
            *oldest = line;
        }
    }
}

impl Places {
    /// Where the parts of a request stand that is admitted, unless its method looks at more of it than
    /// these.
    fn find(document: &Document<'_>, likeness: Likeness<'_>) -> Option<Self> {
        let Ok(Message::Request(request)) = Message::read(document.root()) else {
            return None;
        };
        let Params {
            meta: Some(meta),
            name,
            arguments,
            uri,
            members: _,
            cursor: None,
            request_id: None,
            protocol_version: None,
            capabilities: None,
            client_info: None,
            level: None,
            input_responses: None,
            request_state: None,
            notifications: None,
            duplicate: None,
        } = Params::read(request.params)
        else {
            return None;
        };
        let members = meta.as_object()?;
        let method = Method::find(request.method, Era::Modern)?;
        if method.is_extension() || modern::admit(&Meta::read(members)).is_err() {
            return None;
        }
        let place = |value| document.place(value);
        let root = document.root().as_object()?;
        let places = Self {
            method,
            id: place(root.find("id")?),
            params: place(root.find("params")?),
            meta: place(meta),
            name: name.map(place),
            uri: uri.map(place),
            progress_token: members.find(meta::PROGRESS_TOKEN).map(place),
            arguments: arguments.map(|value| (place(value), place(value) + value.node_count())),
        };
        // Else it was admitted for what the line that it is like does not say.
        places.cover(likeness).then_some(places)
    }

    /// Whether the lines differ in nothing that was looked at to admit them.
    #[inline]
    fn cover(&self, likeness: Likeness<'_>) -> bool {
        likeness.places().all(|place| {
            place == self.id
                || self
                    .arguments
                    .is_some_and(|(start, end)| (start..end).contains(&place))
                || [self.name, self.uri, self.progress_token].contains(&Some(place))
        })
    }

    #[inline]
    fn read<'a>(&self, document: &'a Document<'_>, likeness: Likeness<'_>) -> Option<Admitted<'a>> {
        if !self.cover(likeness) {
            return None;
        }
        let value = |place| document.value_at(place);
        // A number may be one that is no id, or no token.
        let id = Id::read(value(self.id)).ok()?;
        if let Some(token) = self.progress_token
            && !meta::is_progress_token(value(token))
        {
            return None;
        }
        Some(Admitted {
            id,
            method: self.method,
            params: Params {
                meta: Some(value(self.meta)),
                name: self.name.map(value),
                uri: self.uri.map(value),
                arguments: self.arguments.map(|(start, _)| value(start)),
                members: value(self.params).as_object(),
                ..Params::default()
            },
        })
    }
}
