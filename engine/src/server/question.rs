//! What a server of a legacy session asks of its client while a call waits: a request of its own
//! for each input, and the call served again when all are answered.
//!
//! Specification: 2025-11-25, `client/elicitation`, `client/sampling`, `client/roots`.

use std::sync::Arc;

use tightwire_codec::{Id, JsonWriter, Response, Value};

use super::{
    ask::InputRequired,
    connection::{Core, Now},
    context::notification,
    deferred::{Awaited, Expiry, Origin, Waiting},
    dispatch::{Again, Serving},
    hook::Ending,
    reply::{Answer, Outcome, Reply},
    ticket::{JobBytes, lock},
};
use crate::{
    error::RpcError,
    model::input::Input,
    protocol::{
        method::{CANCELLED, Method},
        params::Params,
        pending::Entry,
    },
};

/// A call that waits for answers of the client.
pub(super) struct Asking {
    questions: Vec<Question>,
    /// The parameters of the call: an object.
    request: Vec<u8>,
    /// What was known when the client was asked.
    payload: Option<String>,
    bytes: JobBytes,
}

struct Question {
    /// The id of the request to the client.
    id: u64,
    key: String,
    input: Input,
    /// JSON.
    answer: Option<Vec<u8>>,
}

impl Asking {
    fn find(&self, id: u64) -> Option<usize> {
        let mut open = self.questions.iter().enumerate();
        open.find_map(|(at, question)| {
            (question.id == id && question.answer.is_none()).then_some(at)
        })
    }

    /// Has the call served again with one more parameter.
    pub(super) fn add(&mut self, name: &str, value: Value<'_>) {
        let before = self.request.len();
        // Its closing brace.
        self.request.pop();
        let mut writer = JsonWriter::new(&mut self.request);
        writer.raw(b",");
        writer.key(name);
        writer.value(value);
        writer.raw(b"}");
        self.bytes.grow(self.request.len().saturating_sub(before));
    }

    fn is_answered(&self) -> bool {
        self.questions
            .iter()
            .all(|question| question.answer.is_some())
    }

    /// The parameters of the call with the answers in them.
    fn answered_request(&self) -> Vec<u8> {
        let mut bytes = self.request.clone();
        // Its closing brace.
        bytes.pop();
        let mut writer = JsonWriter::new(&mut bytes);
        writer.raw(b",\"inputResponses\":{");
        let answered = self.questions.iter().filter_map(|question| {
            let answer = question.answer.as_ref()?;
            Some((&question.key, answer))
        });
        writer.items(answered, |writer, (key, answer)| {
            writer.key(key);
            writer.raw(answer);
        });
        writer.raw(b"}}");
        bytes
    }
}

impl Core {
    /// Sends the client a request for each input, and has the call wait for the answers.
    pub(super) fn ask_client(
        &mut self,
        required: InputRequired,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) {
        let bytes = required.bytes();
        if self.held_bytes().saturating_add(bytes) > self.registry.limits.held_bytes_max {
            let text = "the requests in flight hold too much memory to ask the client";
            let ending = self.fail(serving, text, out);
            let origin = Origin::new(serving, &self.registry);
            return self.tell_finished(serving.now, &origin, ending);
        }
        let mut requests = Vec::new();
        let mut questions = Vec::new();
        for (key, mut input) in required.inputs.into_list() {
            self.questions += 1;
            self.open_elicitation(&mut input, serving.now);
            let mut writer = JsonWriter::new(&mut requests);
            writer.raw(b"{\"jsonrpc\":\"2.0\",\"id\":");
            writer.u64(self.questions);
            writer.raw(b",");
            input.write(&mut writer, serving.version);
            writer.raw(b"}\n");
            questions.push(Question {
                id: self.questions,
                key,
                input,
                answer: None,
            });
        }
        self.serial += 1;
        // They do not wait for the rest of a batch.
        match serving.batch {
            Some(_) => self.notices.extend_from_slice(&requests),
            None => out.extend_from_slice(&requests),
        }
        let asking = Asking {
            questions,
            request: required.request,
            payload: required.state,
            bytes: JobBytes::new(Arc::clone(&self.completions), bytes),
        };
        let expiry = Expiry::after(serving.now, self.registry.limits.ask_max());
        let what = Awaited::Answers(Box::new(asking));
        self.wait(serving, expiry, what);
    }

    /// Gives an elicitation by URL its id, and notes that the client is sent it.
    ///
    /// Specification: 2025-11-25, `client/elicitation`, Completion Notifications for URL Mode
    /// Elicitation.
    pub(super) fn open_elicitation(&self, input: &mut Input, now: Now) {
        if let Some(id) = input.identify(|| self.registry.seal.unique_id(now.unix_ms)) {
            let max = self.registry.limits.elicitations_max;
            lock(self.completions.changes()).open_elicitation(id, max);
        }
    }

    /// Takes an answer of the client. One to nothing that was asked, or to what is no longer
    /// waited for, is ignored.
    pub(super) fn handle_response(&mut self, now: Now, response: &Response<'_>, out: &mut Vec<u8>) {
        let Some(Id::Unsigned(id)) = response.id else {
            return;
        };
        let is_asked = |waiting: &Waiting| match &waiting.what {
            Awaited::Answers(asking) => asking.find(id).is_some(),
            _ => false,
        };
        let Some(entry) = self.pending.find_mut(is_asked) else {
            return self.answer_task(now, id, response);
        };
        let serial = entry.serial;
        let Awaited::Answers(asking) = &mut entry.state.what else {
            return;
        };
        let Some(question) = asking.find(id).and_then(|at| asking.questions.get_mut(at)) else {
            return;
        };
        let refused = match response.outcome {
            Ok(result) => {
                let mut answer = Vec::new();
                JsonWriter::new(&mut answer).value(result);
                asking.bytes.grow(answer.len());
                question.answer = Some(answer);
                None
            }
            Err(error) => {
                // It is answered: there is nothing to take back.
                question.answer = Some(Vec::new());
                Some(refusal(&question.input, error))
            }
        };
        if refused.is_none() && !asking.is_answered() {
            if self.held_bytes() <= self.registry.limits.held_bytes_max {
                return;
            }
            return self.serve_again(now, serial, Some("the answers are too long"), out);
        }
        self.serve_again(now, serial, refused.as_deref(), out);
    }

    /// Serves a call once more, now that the client has answered; or fails it.
    fn serve_again(&mut self, now: Now, serial: u64, problem: Option<&str>, out: &mut Vec<u8>) {
        let Some(Entry { id, state, .. }) = self.pending.remove_serial(serial) else {
            return;
        };
        let Awaited::Answers(asking) = &state.what else {
            return;
        };
        let serving = Serving {
            again: Some(Again {
                payload: asking.payload.as_deref(),
            }),
            ..state.origin.serving(now, &id, state.version, state.batch)
        };
        self.answer_in_batch(state.batch, out, |core, answer| match problem {
            None => {
                if let Err(error) = core.serve_answered(asking, &serving, answer) {
                    core.error(Some(&serving.id), &error, answer);
                    core.tell_finished(now, &state.origin, Ending::Error(error.code()));
                }
            }
            Some(problem) => {
                let ending = core.fail(&serving, problem, answer);
                core.tell_finished(now, &state.origin, ending);
            }
        });
        if problem.is_some() {
            take_back_questions(&state, out);
        }
    }

    fn serve_answered(
        &mut self,
        asking: &Asking,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        self.with_kept(asking.answered_request(), |core, params| {
            core.dispatch(&Params::read(Some(params)), serving, out)
        })
    }

    /// Answers a call that failed on what the client said, or did not: an error of the tool's, if
    /// it is a tool's call.
    ///
    /// How it ends.
    pub(super) fn fail(&mut self, serving: &Serving<'_>, text: &str, out: &mut Vec<u8>) -> Ending {
        if serving.method != Method::ToolsCall {
            let error = RpcError::internal(text.to_owned());
            self.error(Some(&serving.id), &error, out);
            return Ending::Error(error.code());
        }
        let mut outcome = Outcome::Answered(Ending::ToolError);
        let answering = self.answering(serving, None, None);
        Reply::new(Answer::new(out, answering, &mut outcome)).error(text);
        Ending::ToolError
    }
}

/// Tells the client that what it was asked need not be answered any more.
pub(super) fn take_back_questions(state: &Waiting, out: &mut Vec<u8>) {
    let Awaited::Answers(asking) = &state.what else {
        return;
    };
    for question in &asking.questions {
        if question.answer.is_none() {
            out.extend_from_slice(&notification(CANCELLED, |writer| {
                writer.raw(b"\"requestId\":");
                writer.u64(question.id);
            }));
        }
    }
}

/// What an error of the client means for the call.
pub(super) fn refusal(input: &Input, error: Value<'_>) -> String {
    let error = error.as_object();
    let message = error.and_then(|error| error.find("message")?.as_str());
    let code = error.and_then(|error| error.find("code")?.as_i64());
    format!(
        "the client refused {}: {} ({})",
        input.method(),
        super::excerpt(message.unwrap_or("no message")),
        code.unwrap_or_default()
    )
}
