//! Which requests are served: told by their era, their metadata, and ids in flight.
//!
//! Everything that a request of the modern era needs for being admitted is in its line, and a client's
//! lines are like earlier ones. Where one differs from the line that it is like in its id, in what its
//! method is about and in its progress token alone, the bytes which say what it is are the very bytes
//! that were admitted, and they are not looked at again.
//!
//! ```text
//!   {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{…},"_meta":{…}}}
//!                        └ may differ                              └───┴─ may differ ─┘
//! ```

use tightwire_codec::{Document, Id, Likeness, Message, Object, Request};

use super::{
    batch::BatchKey,
    connection::{Core, Now},
    dispatch::Serving,
    method_not_found, modern,
};
use crate::{
    error::RpcError,
    protocol::{
        meta::{self, Meta},
        method::{DISCOVER, Method},
        params::{Params, optional_object},
        version::{Era, ProtocolVersion},
    },
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

impl Core {
    /// Serves the request that a line is, if it is like one that was admitted. Whether it is.
    #[inline]
    pub(super) fn handle_like_admitted(
        &mut self,
        now: Now,
        document: &Document<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(likeness) = document.likeness() else {
            return false;
        };
        let Some(admitted) = self.admitted_lines.find(document, likeness) else {
            return false;
        };
        let Admitted { id, method, params } = admitted;
        if !self.refuse_in_flight(&id, out) {
            let version = ProtocolVersion::LATEST;
            let served = self.serve_admitted(now, id, version, method, &params, None, out);
            if let Err(error) = served {
                self.error(Some(&id), &error, out);
            }
        }
        true
    }

    /// Takes in a line that is like another, now that it has been served.
    #[inline]
    pub(super) fn learn_admitted(&mut self, document: &Document<'_>) {
        if let Some(likeness) = document.likeness() {
            let max = self.registry.limits.lines_remembered_max;
            self.admitted_lines.learn(document, likeness, max);
        }
    }

    #[inline]
    pub(super) fn handle_request(
        &mut self,
        now: Now,
        request: &Request<'_>,
        batch: Option<BatchKey>,
        out: &mut Vec<u8>,
    ) {
        if self.refuse_in_flight(&request.id, out) {
            return;
        }
        let params = Params::read(request.params);
        let admitted = self
            .admit(request.method, &params, batch)
            .and_then(|admitted| {
                params.check_duplicates()?;
                Ok(admitted)
            });
        let served = admitted.and_then(|(version, method)| {
            self.serve_admitted(now, request.id, version, method, &params, batch, out)
        });
        if let Err(error) = served {
            self.error(Some(&request.id), &error, out);
        }
    }

    /// Refuses a request whose id is that of another in flight.
    #[inline]
    fn refuse_in_flight(&mut self, id: &Id<'_>, out: &mut Vec<u8>) -> bool {
        let is_in_flight = self.pending.contains(id) || self.subscriptions.contains(id);
        if is_in_flight {
            let error =
                RpcError::invalid_request("Invalid request: a request with this id is in flight");
            self.error(Some(id), &error, out);
        }
        is_in_flight
    }

    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn serve_admitted(
        &mut self,
        now: Now,
        id: Id<'_>,
        version: ProtocolVersion,
        method: Method,
        params: &Params<'_>,
        batch: Option<BatchKey>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let serving = Serving {
            now,
            since: now.monotonic,
            id,
            version,
            method,
            name: "",
            batch,
            again: None,
        };
        if method.is_extension() {
            let members = params.members.unwrap_or(Object::EMPTY);
            return self.serve_extension(members, params, &serving, out);
        }
        self.dispatch(params, &serving, out)
    }

    /// Tells the era of a request, and asks that era whether to serve it.
    ///
    /// Specification: 2026-07-28, `basic/versioning`, Backward Compatibility.
    #[inline]
    fn admit(
        &self,
        method: &str,
        params: &Params<'_>,
        batch: Option<BatchKey>,
    ) -> Result<(ProtocolVersion, Method), RpcError> {
        let meta = optional_object(params.meta, "_meta")?.map(Meta::read);
        let meta = meta.unwrap_or_default();
        if meta.is_modern() || method == DISCOVER {
            if batch.is_some() {
                return Err(RpcError::invalid_request(format!(
                    "Invalid request: {} has no batches",
                    ProtocolVersion::LATEST
                )));
            }
            modern::admit(&meta)?;
            let found = Method::find(method, Era::Modern).or_else(|| self.own_method(method));
            let method = found.ok_or_else(|| method_not_found(method))?;
            return Ok((ProtocolVersion::LATEST, method));
        }
        meta.check_common()?;
        let (version, method) = self.session.admit(method, || self.own_method(method))?;
        if method == Method::Initialize && batch.is_some() {
            return Err(RpcError::invalid_request(
                "Invalid request: `initialize` must not be part of a batch",
            ));
        }
        Ok((version, method))
    }
}
