//! Serving on stdin and stdout.
//!
//! The standard streams are taken over at the start: the conversation keeps descriptors of its
//! own, stdin becomes `/dev/null`, and stdout becomes stderr, so that neither what a tool prints
//! by accident nor a child process it starts can get into the conversation.
//!
//! Specification: 2026-07-28, `basic/transports/stdio`.

use super::{
    event_loop::EventLoop,
    fd::{self, Direction, Fd},
    log::Log,
    panics::install_panic_hook,
};
use crate::{
    error::{Error, Result},
    server::FrozenServer,
};

impl FrozenServer {
    /// Serves on stdin and stdout until the input ends, the output is closed, or SIGTERM or SIGINT
    /// arrives. What was read by then is answered, within
    /// [`Limits::drain_ms_max`](crate::Limits::drain_ms_max). A second signal ends the process at
    /// once.
    ///
    /// From here on stdin is `/dev/null` and stdout is stderr for the rest of the process. Panics
    /// in handlers are told in a line on stderr that cannot block; the panic hook of the process is
    /// called for all others.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the streams cannot be set up, or reading or writing
    /// fails in another way than by the peer's going away.
    pub fn serve_stdio(&self) -> Result<()> {
        install_panic_hook();
        let input =
            Fd::open(rustix::stdio::stdin(), Direction::In).map_err(Error::io("opening stdin"))?;
        let output = Fd::open(rustix::stdio::stdout(), Direction::Out)
            .map_err(Error::io("opening stdout"))?;
        let log = Log::open();
        redirect().map_err(Error::io("redirecting stdin and stdout"))?;
        EventLoop::new(self.connect(), input, output, log)?.run()
    }
}

fn redirect() -> std::io::Result<()> {
    let null = fd::dev_null()?;
    rustix::stdio::dup2_stdin(&null)?;
    let stderr = rustix::stdio::stderr();
    if fd::is_broken(stderr) {
        rustix::stdio::dup2_stdout(&null)?;
    } else {
        rustix::stdio::dup2_stdout(stderr)?;
    }
    Ok(())
}
