//! [`Script`]: a server process and its conversation.

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    os::fd::OwnedFd,
    process::{ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::Value;

use crate::Process;
use crate::Tap;

/// A server process under test. It is killed when it is dropped.
#[derive(Debug)]
pub struct Script {
    tap: Tap,
    process: Process,
    stdin: Option<File>,
    lines: Receiver<String>,
    errors: Receiver<String>,
}

/// How a process ended.
#[derive(Debug)]
pub struct Exit {
    /// Its exit status.
    pub status: ExitStatus,
    /// What of its stdout was not taken before, a value per line.
    pub answers: Vec<Value>,
    /// Its stderr.
    pub stderr: Vec<String>,
    /// How long it took to end, once its stdin was closed.
    pub took: Duration,
}

impl Script {
    /// Starts a program over pipes.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    #[must_use]
    pub fn start(program: &str) -> Self {
        let (stdin, stdout, stderr) = (Stdio::piped(), Stdio::piped(), Stdio::piped());
        Self::over_pipes(Process::start(program, stdin, stdout, stderr))
    }

    /// Talks to a process whose stdin and stdout are piped.
    ///
    /// # Panics
    ///
    /// If they are not.
    #[must_use]
    pub fn over_pipes(mut process: Process) -> Self {
        let child = process.child();
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = child.stdout.take().expect("stdout is piped");
        Self::over(process, stdin, stdout)
    }

    /// Talks to a process over the other ends of its streams; its stderr is read where it is
    /// piped and was not taken.
    #[must_use]
    pub fn over(
        mut process: Process,
        stdin: impl Into<OwnedFd>,
        stdout: impl Into<OwnedFd>,
    ) -> Self {
        let stderr = process.child().stderr.take();
        Self {
            process,
            tap: Tap::default(),
            stdin: Some(File::from(stdin.into())),
            lines: reader(File::from(stdout.into())),
            errors: stderr.map_or_else(|| channel().1, reader),
        }
    }

    /// Sends bytes as they are.
    ///
    /// # Panics
    ///
    /// If stdin is closed.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.tap.sent_bytes(bytes);
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).expect("the server reads");
        stdin.flush().expect("the server reads");
    }

    /// Notes what the server reads that is not sent from here.
    pub fn reads(&mut self, bytes: &[u8]) {
        self.tap.sent_bytes(bytes);
    }

    /// Sends a line.
    pub fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// The next line of stdout.
    ///
    /// # Panics
    ///
    /// If none comes.
    pub fn receive(&mut self) -> Value {
        match self.lines.recv_timeout(Process::PATIENCE) {
            Ok(line) => {
                let line = serde_json::from_str(&line).expect("a line of stdout is JSON");
                self.tap.received(&line);
                line
            }
            Err(error) => panic!("no answer: {error}"),
        }
    }

    /// Sends a line and gives the next line of stdout.
    pub fn ask(&mut self, line: &str) -> Value {
        self.send(line);
        self.receive()
    }

    /// Whether nothing comes on stdout for a while.
    #[must_use]
    pub fn is_silent_for(&self, time: Duration) -> bool {
        matches!(
            self.lines.recv_timeout(time),
            Err(RecvTimeoutError::Timeout)
        )
    }

    /// The next line of stderr.
    ///
    /// # Panics
    ///
    /// If none comes.
    pub fn next_error(&mut self) -> String {
        self.errors
            .recv_timeout(Process::PATIENCE)
            .expect("a line of stderr")
    }

    /// The process.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// The id of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Closes stdin and goes on.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Closes stdin and waits for the end.
    ///
    /// # Panics
    ///
    /// If the process does not end.
    pub fn finish(mut self) -> Exit {
        self.close_stdin();
        self.wait()
    }

    /// Waits for the end of the process, and leaves its streams alone.
    ///
    /// # Panics
    ///
    /// If it does not end.
    pub fn wait_for_status(&mut self) -> ExitStatus {
        self.process.wait().0
    }

    /// Waits for the end of the process and of its streams.
    ///
    /// # Panics
    ///
    /// If the process does not end.
    pub fn wait(mut self) -> Exit {
        let (status, took) = self.process.wait();
        let mut answers = Vec::new();
        for line in self.lines.iter() {
            let answer = serde_json::from_str(&line).expect("a line of stdout is JSON");
            self.tap.received(&answer);
            answers.push(answer);
        }
        Exit {
            status,
            answers,
            stderr: self.errors.iter().collect(),
            took,
        }
    }
}

fn reader(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
