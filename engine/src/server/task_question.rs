//! What a task of a session asks its client: requests of their own, sent once the client waits for the
//! task's result, and answered to the task.
//!
//! What a call asks that is no task is in the sibling `question`.
//!
//! Specification: 2025-11-25, `basic/utilities/tasks`, Input Required Status.

use std::sync::Arc;

use tightwire_codec::{JsonWriter, Response};

use super::{
    connection::{Core, Now},
    context::notification,
    question::refusal,
    session_tasks::{SessionTasks, VERSION},
    tasks::Tasks,
};
use crate::{
    model::{input::Input, task::relate},
    protocol::method::CANCELLED,
};

/// A question that the client was sent, and has not answered.
#[derive(Debug)]
pub(super) struct AskedOfTask {
    /// The id of the request to the client.
    id: u64,
    task: Arc<str>,
    key: String,
    input: Input,
}

impl Core {
    /// Sends the client what a task wants to know, unless it was sent already.
    ///
    /// Specification: 2025-11-25, `basic/utilities/tasks`, Input Required Status.
    pub(super) fn ask_for_task(
        &mut self,
        tasks: &Tasks,
        task: &Arc<str>,
        now: Now,
        out: &mut Vec<u8>,
    ) {
        let mut asked = self.session_tasks.asked.iter();
        if asked.any(|asked| asked.task == *task) {
            return;
        }
        for (key, mut input) in tasks.inputs(task) {
            self.questions += 1;
            self.open_elicitation(&mut input, now);
            let mut line = Vec::new();
            let mut writer = JsonWriter::new(&mut line);
            writer.raw(b"{\"jsonrpc\":\"2.0\",\"id\":");
            writer.u64(self.questions);
            writer.raw(b",");
            input.write(&mut writer, VERSION);
            writer.raw(b"}\n");
            relate(&mut line, task);
            out.extend_from_slice(&line);
            self.session_tasks.asked.push(AskedOfTask {
                id: self.questions,
                task: Arc::clone(task),
                key,
                input,
            });
        }
    }

    /// Takes an answer of the client that no request in flight waits for: it may be for a task.
    pub(super) fn answer_task(&mut self, now: Now, id: u64, response: &Response<'_>) {
        let registry = Arc::clone(&self.registry);
        let SessionTasks {
            principal, asked, ..
        } = &mut self.session_tasks;
        let place = asked.iter().position(|asked| asked.id == id);
        let (Some(tasks), Some(place)) = (&registry.tasks, place) else {
            return;
        };
        let AskedOfTask {
            task, key, input, ..
        } = asked.remove(place);
        let problem = match response.outcome {
            Err(error) => refusal(&input, error),
            Ok(result) => {
                let timeout = |tool: &str| registry.tools.find(tool)?.1.timeout;
                let responses = [(key.as_str(), result)];
                match tasks.answer(&task, principal, responses, timeout, now.unix_ms) {
                    Err(error) => error.message().to_owned(),
                    Ok(None) => return,
                    Ok(Some(start)) => return self.start_task(tasks, start, now),
                }
            }
        };
        self.fail_task(tasks, &task, &problem, now);
    }

    /// Answers for the function of a task: with a tool execution error.
    pub(super) fn fail_task(&mut self, tasks: &Arc<Tasks>, id: &str, text: &str, now: Now) {
        if let Some((serial, cancellation)) = tasks.at_work(id) {
            let ticket = self.task_ticket(tasks, serial, VERSION, cancellation);
            ticket.answer(|reply| reply.error(text));
        }
        self.advance_tasks(now);
    }

    /// Tells the client that what it was asked for a task need not be answered any more.
    pub(super) fn take_back_asked(&mut self, task: &str, out: &mut Vec<u8>) {
        self.session_tasks.asked.retain(|asked| {
            let is_other = *asked.task != *task;
            if !is_other {
                let mut notice = notification(CANCELLED, |writer| {
                    writer.raw(b"\"requestId\":");
                    writer.u64(asked.id);
                });
                relate(&mut notice, task);
                out.extend_from_slice(&notice);
            }
            is_other
        });
    }
}
