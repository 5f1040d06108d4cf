//! The floor of the pipes themselves: writes back what it reads.

use std::{
    fs::File,
    io::{self, Read, Write, stdin, stdout},
    os::fd::AsFd,
};

fn main() -> io::Result<()> {
    // The descriptors themselves: std's own buffers would copy once more.
    let mut input = File::from(stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(stdout().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let count = input.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        output.write_all(&buffer[..count])?;
    }
}

const READ_BYTES: usize = 64 * 1024;
