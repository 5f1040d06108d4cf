//! [`Listener`]: where a server is reached over sockets.
//!
//! Whoever may connect may call every tool, since a socket has no authentication. So a Unix socket
//! is its owner's alone, and a TCP socket that others than this machine reach has to be asked for
//! by name.

use std::{
    fs::File,
    io::{self, ErrorKind},
    net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::net::UnixListener,
    },
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rustix::{
    fs::{FileType, FlockOperation, Mode, Stat},
    io::{Errno, FdFlags},
    net::{AddressFamily, SocketAddrUnix, SocketType, sockopt},
};

use crate::error::{Error, Result};

/// So many may wait to be taken, if the system has no lower limit.
const BACKLOG: i32 = 4096;

/// A socket that peers can connect to, and from which
/// [`FrozenServer::serve`](crate::FrozenServer::serve) takes their connections.
///
/// ```no_run
/// use tightwire::{Listener, Server};
///
/// let server = Server::new("demo", "1.0.0").freeze()?;
/// let listener = Listener::tcp("127.0.0.1:0")?;
/// eprintln!("listening on {:?}", listener.local_addr());
/// server.serve(listener)?;
/// # tightwire::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Listener(Socket);

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix {
        // Dropped first: while the socket listens, nobody replaces its file.
        _file: SocketFile,
        listener: UnixListener,
    },
}

impl Listener {
    /// Listens on a Unix socket at `path`, with permissions 0600. What is left there of a server that has
    /// ended is replaced. The file is removed when the listener is dropped.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]: of kind [`ErrorKind::AddrInUse`] if a server listens there, or if there is
    /// something that is no socket.
    pub fn unix(path: impl AsRef<Path>) -> Result<Self> {
        bind_unix(path.as_ref()).map_err(Error::io("listening on a Unix socket"))
    }

    /// Listens on a TCP address that only this machine reaches, such as `127.0.0.1:8000`; with port
    /// 0, on one that is free.
    ///
    /// # Errors
    ///
    /// [`Error::NotLoopback`] if it is another address; [`Error::Io`] if it cannot be resolved or
    /// listened on.
    pub fn tcp(address: impl ToSocketAddrs) -> Result<Self> {
        let addresses = resolve(address)?;
        let is_loopback = |address: &&SocketAddr| address.ip().to_canonical().is_loopback();
        if let Some(address) = addresses.iter().find(|address| !is_loopback(address)) {
            return Err(Error::NotLoopback {
                address: address.to_string(),
            });
        }
        Self::bind_tcp(&addresses)
    }

    /// The same for any address. Whoever reaches it may call every tool, and can read and change what is
    /// sent: it is for networks where nobody else is, such as that of a container.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if it cannot be resolved or listened on.
    pub fn tcp_beyond_loopback(address: impl ToSocketAddrs) -> Result<Self> {
        Self::bind_tcp(&resolve(address)?)
    }

    /// The TCP address it listens on. `None` for a Unix socket.
    #[must_use]
    pub fn local_addr(&self) -> Option<SocketAddr> {
        match &self.0 {
            Socket::Tcp(listener) => listener.local_addr().ok(),
            Socket::Unix { .. } => None,
        }
    }

    fn bind_tcp(addresses: &[SocketAddr]) -> Result<Self> {
        let bind = || {
            let listener = TcpListener::bind(addresses)?;
            // A longer queue than the standard library asks for: where TCP finds it full, whoever
            // connects waits a second.
            rustix::net::listen(&listener, BACKLOG)?;
            listener.set_nonblocking(true)?;
            Ok(Self(Socket::Tcp(listener)))
        };
        bind().map_err(Error::io("listening on a TCP socket"))
    }

    /// The next peer. `WouldBlock` if there is none.
    pub(super) fn accept(&self) -> io::Result<OwnedFd> {
        match &self.0 {
            Socket::Unix { listener, .. } => Ok(listener.accept()?.0.into()),
            Socket::Tcp(listener) => {
                let stream = listener.accept()?.0;
                // Answers are written together already. Without it they come later, no more.
                let _ = stream.set_nodelay(true);
                // Without it a peer whose machine is gone is missed when something is sent to it.
                let _ = keep_alive(&stream);
                Ok(stream.into())
            }
        }
    }
}

/// Has the system ask a silent peer whether it is there, and end the connection some minutes after it
/// was gone: the connection has a place that others wait for.
fn keep_alive(stream: &TcpStream) -> rustix::io::Result<()> {
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(60))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(15))?;
    sockopt::set_tcp_keepcnt(stream, 4)?;
    sockopt::set_socket_keepalive(stream, true)
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        match &self.0 {
            Socket::Tcp(listener) => listener.as_raw_fd(),
            Socket::Unix { listener, .. } => listener.as_raw_fd(),
        }
    }
}

/// The file of a Unix socket, removed when it is dropped if it is still the same.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    stat: Stat,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let stat = rustix::fs::lstat(&self.path);
        if stat.is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (self.stat.st_dev, self.stat.st_ino))
        {
            // Where it fails, the next server replaces it.
            let _ = rustix::fs::unlink(&self.path);
        }
    }
}

fn resolve(address: impl ToSocketAddrs) -> Result<Vec<SocketAddr>> {
    let addresses = address.to_socket_addrs();
    let addresses = addresses.map_err(Error::io("resolving the address"))?;
    Ok(addresses.collect())
}

fn bind_unix(path: &Path) -> io::Result<Listener> {
    let owner = Mode::RUSR | Mode::WUSR;
    let path = std::path::absolute(path)?;
    let address = SocketAddrUnix::new(&path)?;
    let _lock = lock_directory(&path);
    let socket = unix_socket()?;
    // On Linux the file gets the permissions of the socket, elsewhere this fails. Nobody can connect
    // before it listens, so that it is early enough to set them then.
    let _ = rustix::fs::fchmod(&socket, owner);
    match rustix::net::bind(&socket, &address) {
        Err(Errno::ADDRINUSE) => {
            remove_dead(&path, &address)?;
            rustix::net::bind(&socket, &address)?;
        }
        result => result?,
    }
    let file = SocketFile {
        stat: rustix::fs::lstat(&path)?,
        path,
    };
    if Mode::from_raw_mode(file.stat.st_mode) != owner {
        rustix::fs::chmod(&file.path, owner)?;
    }
    rustix::net::listen(&socket, BACKLOG)?;
    let listener = UnixListener::from(socket);
    listener.set_nonblocking(true)?;
    Ok(Listener(Socket::Unix {
        _file: file,
        listener,
    }))
}

/// Removes the socket of a server that has ended.
fn remove_dead(path: &Path, address: &SocketAddrUnix) -> io::Result<()> {
    let in_use = |message| Err(io::Error::new(ErrorKind::AddrInUse, message));
    let stat = match rustix::fs::lstat(path) {
        Err(Errno::NOENT) => return Ok(()),
        result => result?,
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
        return in_use("there is something that is no socket");
    }
    let probe = unix_socket()?;
    // A server that does not accept any more must not hold this one up.
    rustix::io::ioctl_fionbio(&probe, true)?;
    match rustix::net::connect(&probe, address) {
        Err(Errno::NOENT) => Ok(()),
        Err(Errno::CONNREFUSED) => Ok(rustix::fs::unlink(path)?),
        Err(Errno::ACCESS) => in_use("the socket of another user is there"),
        _ => in_use("a server is listening there"),
    }
}

fn unix_socket() -> io::Result<OwnedFd> {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    Ok(socket)
}

/// Has servers that are started at the same time look and bind one after the other: the one must not take
/// for dead what the other is about to listen on. The lock lasts as long as the file.
fn lock_directory(path: &Path) -> Option<File> {
    const TRIES: u32 = 100;
    const WAIT: Duration = Duration::from_millis(10);
    let directory = File::open(path.parent()?).ok()?;
    for _ in 0..TRIES {
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => thread::sleep(WAIT),
            // Where there are no locks it has to do without.
            _ => break,
        }
    }
    Some(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_asks_whether_a_silent_peer_is_there() {
        let listener = Listener::tcp("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let accepted = listener.accept().unwrap();
        assert!(sockopt::socket_keepalive(&accepted).unwrap());
        let idle = sockopt::tcp_keepidle(&accepted).unwrap();
        assert_eq!(idle, Duration::from_secs(60));
    }
}
