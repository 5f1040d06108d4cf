//! Random bytes of the system.

use std::io;

/// A key that nobody can guess.
///
/// # Errors
///
/// If the system has no random bytes to give.
pub(crate) fn key() -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    fill(&mut key)?;
    Ok(key)
}

#[cfg(target_os = "linux")]
fn fill(bytes: &mut [u8]) -> io::Result<()> {
    use rustix::rand::{GetRandomFlags, getrandom};

    let mut filled = 0;
    while filled < bytes.len() {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn fill(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_keys_are_the_same() {
        assert_ne!(key().unwrap(), key().unwrap());
    }
}
