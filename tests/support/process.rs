//! [`Process`]: a process with the streams that a test gives it.

use std::{
    fs,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// A process under test. It is killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// The longest a test waits for anything.
    pub const PATIENCE: Duration = Duration::from_secs(20);

    /// Starts a program.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    #[must_use]
    pub fn start(
        program: &str,
        stdin: impl Into<Stdio>,
        stdout: impl Into<Stdio>,
        stderr: impl Into<Stdio>,
    ) -> Self {
        Self::spawn(
            Command::new(program)
                .stdin(stdin)
                .stdout(stdout)
                .stderr(stderr),
        )
    }

    /// Starts what a command says.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    #[must_use]
    pub fn spawn(command: &mut Command) -> Self {
        Self {
            child: command.spawn().expect("the program starts"),
        }
    }

    /// The process as the standard library has it.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The id of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    ///
    /// # Panics
    ///
    /// If the process has ended and was waited for.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the process is there");
    }

    /// Waits for the end, and tells how it ended and how long that took.
    ///
    /// # Panics
    ///
    /// If it does not end.
    pub fn wait(&mut self) -> (ExitStatus, Duration) {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return (status, start.elapsed());
            }
            assert!(start.elapsed() < Self::PATIENCE, "the process does not end");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// The most memory that was ever resident, in bytes.
    ///
    /// # Panics
    ///
    /// Where there is no `/proc`.
    #[must_use]
    pub fn memory_max(&self) -> usize {
        self.status_bytes("VmHWM:")
    }

    /// The memory that is resident, in bytes.
    ///
    /// # Panics
    ///
    /// Where there is no `/proc`.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.status_bytes("VmRSS:")
    }

    /// The processor time used so far, in ticks of 10 ms.
    ///
    /// # Panics
    ///
    /// Where there is no `/proc`.
    #[must_use]
    pub fn cpu_ticks(&self) -> u64 {
        let stat = self.proc("stat");
        // The name, in parentheses, may hold spaces; the state is the first field after it.
        let (_, fields) = stat.rsplit_once(") ").expect("a name in parentheses");
        let ticks = fields.split(' ').skip(11).take(2);
        ticks
            .map(|ticks| ticks.parse::<u64>().expect("utime and stime are numbers"))
            .sum()
    }

    fn status_bytes(&self, key: &str) -> usize {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
        kib.expect("it is in kB") * 1024
    }

    fn proc(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.id())).expect("a file in /proc")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
