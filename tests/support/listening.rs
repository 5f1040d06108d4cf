//! [`Listening`]: a server process on a socket; [`Client`]: one of those who connect to it.

use std::{
    fmt,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{Shutdown, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;

use crate::Process;

/// A server process on a socket. It is killed when it is dropped.
#[derive(Debug)]
pub struct Listening {
    process: Process,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    Unix(PathBuf),
    Tcp(u16),
}

impl Listening {
    /// Starts a program on a Unix socket in a directory.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    #[must_use]
    pub fn unix(program: &str, directory: &str, arguments: &[&str]) -> Self {
        static SOCKETS: AtomicUsize = AtomicUsize::new(0);
        let name = SOCKETS.fetch_add(1, Ordering::Relaxed);
        let path = format!("{directory}/{}-{name}.sock", std::process::id());
        Self::unix_at(program, Path::new(&path), arguments)
    }

    /// Starts a program on a Unix socket at this path.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    #[must_use]
    pub fn unix_at(program: &str, path: &Path, arguments: &[&str]) -> Self {
        let shown = path.to_str().expect("a path in UTF-8");
        let mut process = Self::start(program, &["unix", shown], arguments);
        assert_eq!(first_line(process.child()), "0");
        Self {
            process,
            place: Place::Unix(path.to_owned()),
        }
    }

    /// Starts a program on a free TCP port of this machine.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    #[must_use]
    pub fn tcp(program: &str, arguments: &[&str]) -> Self {
        let mut process = Self::start(program, &["tcp", "127.0.0.1:0"], arguments);
        let port = first_line(process.child()).parse().expect("a port");
        Self {
            process,
            place: Place::Tcp(port),
        }
    }

    fn start(program: &str, place: &[&str], arguments: &[&str]) -> Process {
        let mut command = Command::new(program);
        let command = command.args(place).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Process::spawn(command.stderr(Stdio::piped()))
    }

    /// Connects.
    ///
    /// # Panics
    ///
    /// If nobody listens.
    #[must_use]
    pub fn connect(&self) -> Client {
        self.try_connect().expect("the server listens")
    }

    /// Connects, if somebody listens.
    ///
    /// # Errors
    ///
    /// Of the system, if nobody does.
    pub fn try_connect(&self) -> std::io::Result<Client> {
        match &self.place {
            Place::Unix(path) => Client::unix(path),
            Place::Tcp(port) => {
                let stream = TcpStream::connect(("127.0.0.1", *port))?;
                Ok(Client::over(Stream::Tcp(stream)))
            }
        }
    }

    /// The path of its socket.
    ///
    /// # Panics
    ///
    /// If it has none.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.place {
            Place::Unix(path) => path,
            Place::Tcp(_) => panic!("a TCP socket has no path"),
        }
    }

    /// The process.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// The process, to wait for it.
    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Its stderr, once.
    ///
    /// # Panics
    ///
    /// The second time.
    pub fn errors(&mut self) -> BufReader<ChildStderr> {
        BufReader::new(self.process.child().stderr.take().expect("stderr is piped"))
    }

    /// How many descriptors it has open when all connections that were closed are gone.
    ///
    /// # Panics
    ///
    /// Where there is no `/proc`.
    #[must_use]
    pub fn descriptors_at_rest(&self) -> usize {
        std::thread::sleep(std::time::Duration::from_millis(100));
        self.descriptors()
    }

    /// The lowest descriptor that it has not open.
    ///
    /// # Panics
    ///
    /// Never: there is always one.
    #[must_use]
    pub fn free_descriptor(&self) -> u64 {
        let is_free = |fd: &u64| {
            let path = format!("/proc/{}/fd/{fd}", self.process.id());
            std::fs::symlink_metadata(path).is_err()
        };
        (0..).find(is_free).expect("one is free")
    }

    /// How many descriptors it has open.
    ///
    /// # Panics
    ///
    /// Where there is no `/proc`.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        let fds = std::fs::read_dir(format!("/proc/{}/fd", self.process.id()));
        fds.expect("a directory in /proc").count()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Place::Unix(path) = &self.place {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    let stdout = child.stdout.take().expect("stdout is piped");
    let read = BufReader::new(stdout).read_line(&mut line);
    read.expect("a line of stdout");
    line.trim_end().to_owned()
}

/// A connection to a server process.
#[derive(Debug)]
pub struct Client(BufReader<Stream>);

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Client {
    /// Connects to a Unix socket, if somebody listens.
    ///
    /// # Errors
    ///
    /// Of the system, if nobody does.
    pub fn unix(path: &Path) -> std::io::Result<Self> {
        Ok(Self::over(Stream::Unix(UnixStream::connect(path)?)))
    }

    fn over(stream: Stream) -> Self {
        stream.set_patience();
        Self(BufReader::new(stream))
    }

    /// Sends a line.
    ///
    /// # Panics
    ///
    /// If the server does not take it.
    pub fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// Sends bytes as they are.
    ///
    /// # Panics
    ///
    /// If the server does not take them.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.try_send(bytes).expect("the server reads");
    }

    /// Sends bytes as they are, if the server takes them.
    ///
    /// # Errors
    ///
    /// Of the system, if it does not.
    pub fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self.0.get_mut() {
            Stream::Unix(stream) => stream.write_all(bytes),
            Stream::Tcp(stream) => stream.write_all(bytes),
        }
    }

    /// Another way to send, for another thread.
    ///
    /// # Panics
    ///
    /// If there are no descriptors left.
    #[must_use]
    pub fn writer(&self) -> Box<dyn Write + Send> {
        match self.0.get_ref() {
            Stream::Unix(stream) => Box::new(stream.try_clone().expect("a descriptor")),
            Stream::Tcp(stream) => Box::new(stream.try_clone().expect("a descriptor")),
        }
    }

    /// The next line.
    ///
    /// # Panics
    ///
    /// If none comes.
    pub fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("the server writes");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Sends a line and gives the next one.
    pub fn ask(&mut self, line: &str) -> Value {
        self.send(line);
        self.receive()
    }

    /// What comes until the server closes the connection.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => {
                panic!("the connection is not closed: {error}")
            }
            _ => String::from_utf8(rest).expect("a text"),
        }
    }

    /// Closes the connection for writing.
    ///
    /// # Panics
    ///
    /// If it is closed.
    pub fn finish(&mut self) {
        let done = match self.0.get_mut() {
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
        };
        done.expect("it is open");
    }

    /// The stream.
    ///
    /// # Panics
    ///
    /// If it is not TCP.
    #[must_use]
    pub fn tcp(&self) -> &TcpStream {
        match self.0.get_ref() {
            Stream::Tcp(stream) => stream,
            Stream::Unix(_) => panic!("a Unix socket"),
        }
    }
}

impl Read for Client {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Stream {
    fn set_patience(&self) {
        let patience = Some(Process::PATIENCE);
        let set = match self {
            Self::Unix(stream) => stream.set_read_timeout(patience),
            Self::Tcp(stream) => stream.set_read_timeout(patience),
        };
        set.expect("a time that is not zero");
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(stream) => stream.fmt(f),
            Self::Tcp(stream) => stream.fmt(f),
        }
    }
}
