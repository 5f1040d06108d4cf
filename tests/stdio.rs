//! Serving on stdin and stdout, whatever they are.

use std::{
    fs::File,
    io::{BufRead, BufReader, Seek, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::{Command, Stdio},
    time::Duration,
};

use rustix::{
    fs::{CWD, Mode, OFlags, fcntl_getfl, mkfifoat},
    pipe::{PipeFlags, pipe_with},
    process::Signal,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr},
};
use serde_json::{Value, json};
use tightwire_tests::{Exit, Process, Script, call};

const DEMO: &str = env!("CARGO_BIN_EXE_demo_under_test");
const FAULTY: &str = env!("CARGO_BIN_EXE_faulty");

#[test]
fn pipes() {
    assert_converses(Script::start(DEMO));
}

#[test]
fn sockets() {
    let (stdin, server_stdin) = UnixStream::pair().expect("a pair of sockets");
    let (stdout, server_stdout) = UnixStream::pair().expect("a pair of sockets");
    let process = start(OwnedFd::from(server_stdin), OwnedFd::from(server_stdout));
    assert_converses(Script::over(process, stdin, stdout));
}

#[test]
fn pipes_that_give_a_message_a_read() {
    let packets = PipeFlags::DIRECT | PipeFlags::CLOEXEC;
    let (server_stdin, stdin) = pipe_with(packets).expect("a pipe");
    let (stdout, server_stdout) = pipe_with(packets).expect("a pipe");
    let mut script = Script::over(start(server_stdin, server_stdout), stdin, stdout);
    script.ask(&add(0));
    // Several messages are waiting when the server comes to read.
    script.signal(Signal::STOP);
    for id in 1..=5 {
        script.send(&add(id));
    }
    script.signal(Signal::CONT);
    for id in 1..=5 {
        assert_eq!(script.receive()["id"], id);
    }
}

#[test]
fn one_socket_for_both_directions() {
    let (client, server) = UnixStream::pair().expect("a pair of sockets");
    let process = start(clone(&server), OwnedFd::from(server));
    let mut script = Script::over(process, clone(&client), clone(&client));
    assert_eq!(script.ask(&add(1))["id"], 1);
    script.send(&sleep(2));
    client
        .shutdown(std::net::Shutdown::Write)
        .expect("it is open");
    assert_ends_with(&script.wait(), &[2]);
}

#[test]
fn named_pipes_that_were_opened_for_both_ways_wait_for_one_client_after_the_other() {
    let [input, output] = ["input", "output"].map(named_pipe);
    let both_ways = |path| {
        let pipe = File::options().read(true).write(true).open(path);
        pipe.expect("it was just made")
    };
    let mut process = start(both_ways(&input), both_ways(&output));
    for id in 1..=2 {
        // Nobody is there.
        std::thread::sleep(Duration::from_millis(100));
        let mut stdin = File::from(open_for_writing(&input));
        writeln!(stdin, "{}", add(id)).expect("the server reads");
        let mut answer = String::new();
        let mut stdout = BufReader::new(File::open(&output).expect("a pipe"));
        stdout.read_line(&mut answer).expect("the server writes");
        let answer: Value = serde_json::from_str(&answer).expect("a line of stdout is JSON");
        assert_eq!(answer["id"], id);
    }
    process.signal(Signal::TERM);
    assert!(process.wait().0.success());
    for path in [input, output] {
        std::fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn stdin_from_a_file() {
    let mut file = scratch("stdin");
    let lines = [add(1), sleep(2), add(3)].join("\n");
    file.write_all(lines.as_bytes()).expect("a file takes it");
    file.rewind().expect("a file can be read again");
    let (stdout, server_stdout) = std::io::pipe().expect("a pipe");
    let mut script = Script::over(start(file, server_stdout), null(), stdout);
    script.reads(lines.as_bytes());
    assert_ends_with(&script.wait(), &[1, 3, 2]);
}

#[test]
fn stdin_from_dev_null() {
    let (stdout, server_stdout) = std::io::pipe().expect("a pipe");
    let script = Script::over(start(Stdio::null(), server_stdout), null(), stdout);
    assert_ends_with(&script.wait(), &[]);
}

#[test]
fn stdin_closed_by_the_client_at_the_start() {
    assert_ends_with(&Script::start(DEMO).finish(), &[]);
}

#[test]
fn standard_streams_that_are_not_open() {
    let (stdout, server_stdout) = std::io::pipe().expect("a pipe");
    let process = start_in_shell("<&-", Stdio::null(), server_stdout);
    assert_ends_with(&Script::over(process, null(), stdout).wait(), &[]);

    let mut process = start_in_shell(">&-", Stdio::piped(), Stdio::null());
    let mut stdin = process.child().stdin.take().expect("stdin is piped");
    writeln!(stdin, "{}", add(1)).expect("the server reads");
    drop(stdin);
    assert!(process.wait().0.success());

    let process = start_in_shell("2>&-", Stdio::piped(), Stdio::piped());
    assert_converses(Script::over_pipes(process));
}

#[test]
fn stdout_to_a_file() {
    let mut file = scratch("stdout");
    let mut process = start(Stdio::piped(), clone(&file));
    let mut stdin = process.child().stdin.take().expect("stdin is piped");
    write!(stdin, "{}\n{}\n{}", add(1), sleep(2), add(3)).expect("the server reads");
    drop(stdin);
    assert!(process.wait().0.success());
    file.rewind().expect("a file can be read again");
    let answers = std::io::read_to_string(file).expect("a text");
    let ids = answers.lines().map(|line| {
        let answer: Value = serde_json::from_str(line).expect("a line of stdout is JSON");
        answer["id"].clone()
    });
    assert_eq!(ids.collect::<Vec<_>>(), [1, 3, 2]);
}

#[test]
fn stdout_to_a_full_device_is_an_error() {
    let full = File::options().write(true).open("/dev/full");
    let mut process = start(Stdio::piped(), full.expect("Linux has it"));
    let mut stdin = process.child().stdin.take().expect("stdin is piped");
    writeln!(stdin, "{}", add(1)).expect("the server reads");
    let (status, _) = process.wait();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn stdout_closed_by_its_reader_ends_quietly() {
    let mut process = start(Stdio::piped(), Stdio::piped());
    let child = process.child();
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    drop(stdout);
    let exit = Script::over(process, stdin.expect("stdin is piped"), null()).wait();
    assert_ends_with(&exit, &[]);
}

#[test]
fn stdout_closed_with_answers_on_their_way_ends_quietly() {
    let (client, server) = UnixStream::pair().expect("a pair of sockets");
    let mut process = start(Stdio::piped(), OwnedFd::from(server));
    let stdin = process.child().stdin.take().expect("stdin is piped");
    let mut script = Script::over(process, stdin, null());
    script.send(&sleep(1));
    script.send(&add(2));
    drop(client);
    assert_ends_with(&script.wait(), &[]);
}

#[test]
fn a_terminal() {
    let (terminal, server) = pty();
    let process = start(clone(&server), server);
    let mut script = Script::over(process, clone(&terminal), terminal);
    for id in 1..=3 {
        script.send(&add(id));
        assert_eq!(script.receive()["id"], id);
    }
    script.send(&format!("{}\n{}\n{}", add(4), sleep(5), add(6)));
    let ids = [(); 3].map(|()| script.receive()["id"].clone());
    assert_eq!(ids, [4, 6, 5]);
    // Ctrl-D, on an empty line.
    script.send_bytes(b"\x04");
    assert_eq!(script.wait().status.code(), Some(0));
}

#[test]
fn a_terminal_that_is_hung_up() {
    let (terminal, server) = pty();
    let process = start(clone(&server), server);
    let mut script = Script::over(process, clone(&terminal), null());
    script.send(&add(1));
    drop(terminal);
    script.close_stdin();
    assert_eq!(script.wait().status.code(), Some(0));
}

#[test]
fn the_flags_of_shared_descriptions_stay_as_they_were() {
    let (stdin, server_stdin) = std::io::pipe().map(|(r, w)| (w, r)).expect("a pipe");
    let (stdout, server_stdout) = std::io::pipe().expect("a pipe");
    let (stderr, server_stderr) = std::io::pipe().expect("a pipe");
    assert_flags_stay(
        [
            server_stdin.into(),
            server_stdout.into(),
            server_stderr.into(),
        ],
        stdin,
        stdout,
    );
    drop(stderr);

    let (client, server) = UnixStream::pair().expect("a pair of sockets");
    let server = OwnedFd::from(server);
    assert_flags_stay(
        [clone(&server), clone(&server), server],
        clone(&client),
        client,
    );

    let (terminal, server) = pty();
    assert_flags_stay(
        [clone(&server), clone(&server), server],
        clone(&terminal),
        terminal,
    );
}

#[test]
fn stderr_without_a_reader_disturbs_nothing() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let process = Process::start(DEMO, Stdio::piped(), Stdio::piped(), writer);
    assert_converses(Script::over_pipes(process));
}

#[test]
fn bad_lines_that_nobody_reads_of_hold_nothing_up() {
    let mut process = start(Stdio::piped(), Stdio::piped());
    let unread = process.child().stderr.take();
    let mut script = Script::over_pipes(process);
    for _ in 0..10 {
        script.send(&"{\"jsonrpc\": bad\n".repeat(1_000));
        for _ in 0..1_000 {
            assert_eq!(script.receive()["error"]["code"], -32700);
        }
    }
    assert_converses(script);
    drop(unread);
}

#[test]
fn waiting_takes_no_processor_time() {
    let idle = Script::start(FAULTY);
    let mut in_flight = Script::start(FAULTY);
    in_flight.send(&call(1, "never", &json!({})));
    in_flight.send(&call(2, "wait", &json!({})));
    let mut half_a_line = Script::start(FAULTY);
    half_a_line.send_bytes(b"{\"jsonrpc\":");
    let mut ended = Script::start(FAULTY);
    ended.send(&call(1, "never", &json!({})));
    ended.send(&call(2, "echo", &json!({ "message": "started" })));
    ended.receive();
    ended.close_stdin();
    let mut stuck = Process::start(FAULTY, Stdio::piped(), Stdio::piped(), Stdio::piped());
    let mut stuck_stdin = stuck.child().stdin.take().expect("stdin is piped");
    let message = "x".repeat(100_000);
    let line = call(1, "echo", &json!({ "message": message }));
    writeln!(stuck_stdin, "{line}").expect("the server reads");

    let scripts = [&idle, &in_flight, &half_a_line, &ended];
    let processes = scripts.map(Script::process).into_iter().chain([&stuck]);
    let processes: Vec<&Process> = processes.collect();
    std::thread::sleep(Duration::from_millis(200));
    let ticks = |process: &&Process| process.cpu_ticks();
    let before: Vec<u64> = processes.iter().map(ticks).collect();
    std::thread::sleep(Duration::from_millis(500));
    let after: Vec<u64> = processes.iter().map(ticks).collect();
    for (before, after) in before.iter().zip(&after) {
        assert!(after - before <= 1, "from {before} to {after} ticks");
    }
}

/// What any conversation must do: one request at a time, several together, deferred ones, and a
/// last line without a newline.
fn assert_converses(mut script: Script) {
    assert_eq!(script.ask(&add(1))["result"]["content"][0]["text"], "5");
    script.send(&format!("{}\n\n{}\r\n{}", add(2), sleep(3), add(4)));
    let ids = [(); 3].map(|()| script.receive()["id"].clone());
    assert_eq!(ids, [2, 4, 3]);
    script.send(&sleep(5));
    script.send_bytes(add(6).as_bytes());
    assert_ends_with(&script.finish(), &[6, 5]);
}

/// Status 0, silence on stderr, and these answers at the end.
fn assert_ends_with(exit: &Exit, ids: &[u64]) {
    assert_eq!(exit.status.code(), Some(0), "{exit:?}");
    assert!(exit.stderr.is_empty(), "{exit:?}");
    let answered: Vec<&Value> = exit.answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(answered, ids.iter().collect::<Vec<_>>());
}

fn assert_flags_stay(server: [OwnedFd; 3], stdin: impl Into<OwnedFd>, stdout: impl Into<OwnedFd>) {
    let flags = |fds: &[OwnedFd; 3]| {
        fds.each_ref()
            .map(|fd| fcntl_getfl(fd).expect("it is open"))
    };
    let shared = server.each_ref().map(clone);
    let before = flags(&shared);
    assert!(before.iter().all(|flags| !flags.contains(OFlags::NONBLOCK)));
    let [server_stdin, server_stdout, server_stderr] = server;
    let process = Process::start(DEMO, server_stdin, server_stdout, server_stderr);
    let mut script = Script::over(process, stdin, stdout);
    script.send(&add(1));
    script.receive();
    assert_eq!(flags(&shared), before);
    script.signal(Signal::TERM);
    assert_eq!(script.wait_for_status().code(), Some(0));
    assert_eq!(flags(&shared), before);
}

fn start(stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> Process {
    Process::start(DEMO, stdin, stdout, Stdio::piped())
}

/// Starts the demo with a redirection that closes one of its streams.
fn start_in_shell(redirection: &str, stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> Process {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec \"$0\" {redirection}"), DEMO]);
    Process::spawn(command.stdin(stdin).stdout(stdout).stderr(Stdio::piped()))
}

/// A terminal: the side of whoever sits at it, and that of the server.
/// Both ends of a terminal: the user's, and the server's.
fn pty() -> (OwnedFd, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let terminal = openpt(flags).expect("there are terminals");
    // An echo would be mixed with the answers byte by byte, once several lines are on their way.
    let mut modes = tcgetattr(&terminal).expect("it is a terminal");
    modes.local_modes -= LocalModes::ECHO;
    tcsetattr(&terminal, OptionalActions::Now, &modes).expect("it is ours");
    grantpt(&terminal).expect("it is ours");
    unlockpt(&terminal).expect("it is ours");
    let name = ptsname(&terminal, Vec::new()).expect("it has a name");
    let name = name.into_string().expect("a name in UTF-8");
    let server = rustix::fs::open(
        name,
        OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    (terminal, server.expect("it can be opened"))
}

fn clone(fd: &impl AsFd) -> OwnedFd {
    let fd = fd.as_fd().try_clone_to_owned();
    fd.expect("there are descriptors left")
}

fn null() -> OwnedFd {
    let null = File::options().read(true).write(true).open("/dev/null");
    null.expect("there is /dev/null").into()
}

/// Does not wait for a reader: there must be one.
fn open_for_writing(path: &str) -> OwnedFd {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).expect("a pipe that somebody reads")
}

/// The path of a new pipe.
fn named_pipe(name: &str) -> String {
    let path = scratch_path(name);
    let owner = Mode::RUSR | Mode::WUSR;
    mkfifoat(CWD, &path, owner).expect("a free path");
    path
}

fn scratch_path(name: &str) -> String {
    let directory = env!("CARGO_TARGET_TMPDIR");
    format!("{directory}/{name}-{}", std::process::id())
}

/// An empty file without a name.
fn scratch(name: &str) -> File {
    let path = scratch_path(name);
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(true);
    let file = options.open(&path).expect("a scratch file");
    std::fs::remove_file(path).expect("it is there");
    file
}

/// A call that is answered at once.
fn add(id: u64) -> String {
    call(id, "add", &json!({ "a": 2, "b": 3 }))
}

/// A call that is answered later.
fn sleep(id: u64) -> String {
    call(id, "sleep", &json!({ "ms": 100 }))
}
