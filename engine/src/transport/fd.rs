//! A file descriptor that never blocks the loop, whatever it is, and whosever it is.
//!
//! `O_NONBLOCK` belongs to the open file description, which a pipe or terminal shares with the
//! host and its other children. So:
//!
//! | what it is | how it is used |
//! | --- | --- |
//! | pipe, terminal | opened again through `/proc/self/fd`: a private description, non-blocking |
//! | socket | `recv` and `send` with `MSG_DONTWAIT`: no flag is touched |
//! | regular file, `/dev/null` | read and written directly: always ready, and epoll refuses them |
//! | pipe or terminal that cannot be opened again | `O_NONBLOCK` on the shared description, until dropped |

use std::{
    io::{self, ErrorKind, IsTerminal},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
};

use rustix::{
    fs::{FileType, Mode, OFlags},
    net::{RecvFlags, SendFlags, Shutdown, SocketType},
};

/// One end of the conversation, ready for the loop.
#[derive(Debug)]
pub(super) struct Fd {
    fd: OwnedFd,
    kind: Kind,
    /// What the flags of a shared description were.
    restore: Option<OFlags>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pipe,
    Terminal,
    Socket,
    /// Always ready.
    Direct,
}

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
}

impl Fd {
    /// Makes a descriptor of its own from a standard stream, which the caller may then replace.
    pub(super) fn open(stream: BorrowedFd<'_>, direction: Direction) -> io::Result<Self> {
        let kind = kind(stream)?;
        match Self::open_private(stream, direction) {
            Err(_) if matches!(kind, Kind::Pipe | Kind::Terminal) => {}
            result => return result,
        }
        let mut shared = Self {
            fd: duplicate(stream)?,
            kind,
            restore: None,
        };
        let flags = rustix::fs::fcntl_getfl(&shared.fd)?;
        if !flags.contains(OFlags::NONBLOCK) {
            rustix::fs::fcntl_setfl(&shared.fd, flags | OFlags::NONBLOCK)?;
            shared.restore = Some(flags);
        }
        Ok(shared)
    }

    /// The same, but fails where it would have to change the flags of a shared description.
    pub(super) fn open_private(stream: BorrowedFd<'_>, direction: Direction) -> io::Result<Self> {
        let kind = kind(stream)?;
        if kind == Kind::Socket && rustix::net::sockopt::socket_type(stream)? != SocketType::STREAM
        {
            let message = "a socket that is no stream cuts messages into packets";
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        }
        let fd = match kind {
            Kind::Socket | Kind::Direct => duplicate(stream)?,
            Kind::Pipe | Kind::Terminal => reopen(stream, direction)?,
        };
        Ok(Self {
            fd,
            kind,
            restore: None,
        })
    }

    /// A stream socket of our own.
    pub(super) fn from_socket(fd: OwnedFd) -> Self {
        Self {
            fd,
            kind: Kind::Socket,
            restore: None,
        }
    }

    /// What it is.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether a read that did not fill its buffer is likely to have taken all there was. A
    /// terminal gives a line a read.
    pub(super) fn gives_all(&self) -> bool {
        matches!(self.kind, Kind::Pipe | Kind::Socket)
    }

    /// Whether it is a pipe through a description of our own.
    pub(super) fn is_private_pipe(&self) -> bool {
        self.kind == Kind::Pipe && self.restore.is_none()
    }

    /// Another description of a pipe that is read, whose reads block.
    pub(super) fn reopen_blocking(&self) -> io::Result<OwnedFd> {
        // Opening a named pipe without `O_NONBLOCK` would wait for a writer.
        let fd = reopen(self.fd.as_fd(), Direction::In)?;
        let flags = rustix::fs::fcntl_getfl(&fd)?;
        rustix::fs::fcntl_setfl(&fd, flags - OFlags::NONBLOCK)?;
        Ok(fd)
    }

    /// The same description once more.
    pub(super) fn duplicate(&self) -> io::Result<OwnedFd> {
        duplicate(self.fd.as_fd())
    }

    /// How many bytes the reader of a pipe has not taken yet.
    pub(super) fn unread(&self) -> Option<u64> {
        (self.kind == Kind::Pipe)
            .then(|| rustix::io::ioctl_fionread(&self.fd).ok())
            .flatten()
    }

    /// Takes it for what is always ready: a device that epoll refuses.
    pub(super) fn make_direct(&mut self) {
        self.kind = Kind::Direct;
    }

    /// Reads what is there. `WouldBlock` if nothing is, 0 at the end.
    #[inline]
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match self.kind {
            Kind::Socket => rustix::net::recv(&self.fd, buffer, RecvFlags::DONTWAIT)?.0,
            _ => rustix::io::read(&self.fd, buffer)?,
        };
        Ok(count)
    }

    /// Writes what there is room for. `WouldBlock` if there is none.
    #[inline]
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let count = match self.kind {
            Kind::Socket => {
                // Rust's runtime ignores SIGPIPE; a program that embeds this may not.
                let flags = SendFlags::DONTWAIT;
                #[cfg(not(target_vendor = "apple"))]
                let flags = flags | SendFlags::NOSIGNAL;
                rustix::net::send(&self.fd, bytes, flags)?
            }
            _ => rustix::io::write(&self.fd, bytes)?,
        };
        Ok(count)
    }

    /// Tells the peer of a socket that no more comes.
    pub(super) fn shut_down(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.fd, Shutdown::Write)?)
    }
}

impl AsRawFd for Fd {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl Drop for Fd {
    fn drop(&mut self) {
        if let Some(flags) = self.restore {
            // Nobody is left to tell.
            let _ = rustix::fs::fcntl_setfl(&self.fd, flags);
        }
    }
}

/// Whether writing to it fails for good: it is closed, or its reader is gone.
pub(super) fn is_broken(stream: impl AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::OUT)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let broken = PollFlags::ERR | PollFlags::NVAL;
    poll(&mut fds, Some(&now)).is_err() || fds[0].revents().intersects(broken)
}

/// `/dev/null`, to put in the place of a standard stream.
pub(super) fn dev_null() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/dev/null", flags, Mode::empty())?)
}

/// Whether the error says that the peer is gone.
pub(super) fn is_gone(error: &io::Error, kind: Kind) -> bool {
    let hung_up = error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error());
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::NotConnected
    ) || (kind == Kind::Terminal && hung_up)
}

fn kind(stream: BorrowedFd<'_>) -> io::Result<Kind> {
    let stat = rustix::fs::fstat(stream)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice if stream.is_terminal() => Kind::Terminal,
        _ => Kind::Direct,
    })
}

fn duplicate(stream: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(stream, 3)?)
}

fn reopen(stream: BorrowedFd<'_>, direction: Direction) -> io::Result<OwnedFd> {
    // Who opens a named pipe for both ways has it stay open while nobody is at its other end.
    let opened = rustix::fs::fcntl_getfl(stream)? & OFlags::RWMODE;
    let access = match direction {
        _ if opened == OFlags::RDWR && kind(stream)? == Kind::Pipe => OFlags::RDWR,
        Direction::In => OFlags::RDONLY,
        Direction::Out => OFlags::WRONLY,
    };
    let flags = access | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", stream.as_raw_fd());
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}
