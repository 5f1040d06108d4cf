//! Batches: several messages in one array, answered in one array when the last answer is ready.
//!
//! Specification: 2025-03-26, `basic/index`, Batching. No other revision has them.

use tightwire_codec::{Array, Message, WideIntegers};

use super::{
    connection::{Core, Now, read},
    run::Ran,
};
use crate::error::RpcError;

/// Names a batch whose answers are not all ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchKey(u64);

/// The batches of a connection that wait for deferred answers.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    open: Vec<Batch>,
    last_key: u64,
    /// Of all answers that are held.
    bytes: usize,
}

#[derive(Debug)]
struct Batch {
    key: BatchKey,
    /// The answers, with a comma after each.
    answers: Vec<u8>,
    outstanding: usize,
}

impl Batches {
    /// A key for a new batch.
    pub(crate) fn next_key(&mut self) -> BatchKey {
        self.last_key += 1;
        BatchKey(self.last_key)
    }

    /// Takes the answers that a batch has after its last message was handled, and how many are
    /// still to come. Sends them if none is.
    pub(crate) fn close(
        &mut self,
        key: BatchKey,
        answers: Vec<u8>,
        outstanding: usize,
        out: &mut Vec<u8>,
    ) {
        let batch = Batch {
            key,
            answers,
            outstanding,
        };
        if outstanding == 0 {
            batch.send(out);
        } else {
            self.bytes += batch.answers.len();
            self.open.push(batch);
        }
    }

    /// Takes one deferred answer, or `None` if there will be none. Sends the batch if it was the
    /// last.
    pub(crate) fn settle(&mut self, key: BatchKey, answer: Option<&[u8]>, out: &mut Vec<u8>) {
        let Some(place) = self.open.iter().position(|batch| batch.key == key) else {
            return;
        };
        let batch = &mut self.open[place];
        if let Some(answer) = answer {
            batch.answers.extend_from_slice(answer);
            self.bytes += answer.len();
            end_with_comma(&mut batch.answers);
        }
        batch.outstanding -= 1;
        if batch.outstanding == 0 {
            let batch = self.open.swap_remove(place);
            self.bytes -= batch.answers.len();
            batch.send(out);
        }
    }

    /// Sends what there is of all that are open.
    pub(crate) fn close_all(&mut self, out: &mut Vec<u8>) {
        for batch in self.open.drain(..) {
            batch.send(out);
        }
        self.bytes = 0;
    }

    /// How many bytes of answers wait for others.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Batch {
    /// A batch of nothing but notifications is not answered.
    fn send(&self, out: &mut Vec<u8>) {
        let Some(answers) = self.answers.strip_suffix(b",") else {
            return;
        };
        out.push(b'[');
        out.extend_from_slice(answers);
        out.extend_from_slice(b"]\n");
    }
}

impl Core {
    /// Serves the messages of a batch.
    pub(super) fn handle_batch<'a>(
        &mut self,
        now: Now,
        items: Array<'a>,
        wide: Option<&'a WideIntegers>,
        out: &mut Vec<u8>,
    ) {
        let max = self.registry.limits.batch_max;
        if items.is_empty() || items.len() > max {
            let error = RpcError::invalid_request(format!(
                "Invalid request: a batch holds 1 to {max} messages, not {}",
                items.len()
            ));
            self.error(None, &error, out);
            return;
        }
        let key = self.batches.next_key();
        let mut answers = Vec::new();
        let mut has_responses = false;
        for item in items {
            let room = answers.len() <= self.registry.limits.output_bytes_max;
            match read(item, wide) {
                Ok(Message::Request(request)) if !room => {
                    let error = RpcError::internal("The answers to the batch take too much room");
                    self.error(Some(&request.id), &error, &mut answers);
                }
                // What it settles is not this batch's, so it goes straight out.
                Ok(Message::Notification(notification)) => {
                    // One that cancels a call of this batch takes back what that has asked: then
                    // the client has to know of it.
                    out.append(&mut self.notices);
                    self.handle_notification(now, &notification, wide, out);
                }
                Ok(Message::Response(_)) => has_responses = true,
                message => self.handle_message(now, message, wide, Some(key), &mut answers),
            }
            end_with_comma(&mut answers);
        }
        if self.ran.is_some() {
            self.ran = Some(Ran::Batch);
        }
        out.append(&mut self.notices);
        // A batch may cancel what it asked for itself: what is left of it is in the table.
        let outstanding = self.pending.count(|waiting| waiting.batch == Some(key));
        self.batches.close(key, answers, outstanding, out);
        if !has_responses {
            return;
        }
        // One may be to what a call of this very batch has asked, by an id that can be guessed: what
        // it settles has to be known by now.
        for item in items {
            if let Ok(Message::Response(response)) = read(item, wide) {
                self.handle_response(now, &response, out);
            }
        }
    }
}

/// Makes the newline that an answer ends with the comma that a batch wants.
pub(crate) fn end_with_comma(answers: &mut [u8]) {
    if let Some(last @ b'\n') = answers.last_mut() {
        *last = b',';
    }
}
