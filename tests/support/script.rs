//! [`Script`]: a server process over pipes.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// A server process under test. It is killed when it is dropped.
#[derive(Debug)]
pub struct Script {
    child: Child,
    stdin: Option<ChildStdin>,
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
    /// The longest a test waits for anything.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// Starts a program.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    #[must_use]
    pub fn start(program: &str) -> Self {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stdin = child.stdin.take();
        let lines = reader(child.stdout.take().expect("stdout is piped"));
        let errors = reader(child.stderr.take().expect("stderr is piped"));
        Self {
            child,
            stdin,
            lines,
            errors,
        }
    }

    /// Sends bytes as they are.
    ///
    /// # Panics
    ///
    /// If stdin is closed.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).expect("the server reads");
        stdin.flush().expect("the server reads");
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
        match self.lines.recv_timeout(Self::PATIENCE) {
            Ok(line) => serde_json::from_str(&line).expect("a line of stdout is JSON"),
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
            .recv_timeout(Self::PATIENCE)
            .expect("a line of stderr")
    }

    /// The id of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
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

    /// Waits for the end.
    ///
    /// # Panics
    ///
    /// If the process does not end.
    pub fn wait(mut self) -> Exit {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self
                .child
                .try_wait()
                .expect("the process can be waited for")
            {
                break status;
            }
            assert!(start.elapsed() < Self::PATIENCE, "the process does not end");
            thread::sleep(Duration::from_millis(2));
        };
        let took = start.elapsed();
        let answers = self.lines.iter();
        Exit {
            status,
            answers: answers
                .map(|line| serde_json::from_str(&line).expect("a line of stdout is JSON"))
                .collect(),
            stderr: self.errors.iter().collect(),
            took,
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
