//! What the floors have in common: the loop that reads and writes, and the answers that are constant.

use std::{
    fs::File,
    io::{self, Read, Write, stdin, stdout},
    os::fd::AsFd,
};

use memchr::memchr;

/// How many bytes behind a line may be read, whatever they are.
pub const PADDING: usize = 64;

/// Serves the lines on stdin, one write for all answers to what was read together. `answer` is given a buffer
/// that begins with a line, the line's length, and where its answer goes; [`PADDING`] bytes or more follow the line.
///
/// # Errors
///
/// Whatever reading or writing fails with.
pub fn serve(mut answer: impl FnMut(&mut [u8], usize, &mut Vec<u8>)) -> io::Result<()> {
    // The descriptors themselves: std's own buffers would copy once more.
    let mut input = File::from(stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(stdout().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![0; 4 * READ_BYTES];
    let mut answers = Vec::with_capacity(READ_BYTES);
    // What is read and not yet answered is `buffer[start..end]`.
    let (mut start, mut end) = (0, 0);
    loop {
        if buffer.len() - end < READ_BYTES + PADDING {
            buffer.copy_within(start..end, 0);
            (start, end) = (0, end - start);
            if buffer.len() - end < READ_BYTES + PADDING {
                buffer.resize(2 * buffer.len(), 0);
            }
        }
        let count = input.read(&mut buffer[end..end + READ_BYTES])?;
        if count == 0 {
            return Ok(());
        }
        let mut unscanned = end;
        end += count;
        while let Some(length) = memchr(b'\n', &buffer[unscanned..end]) {
            let newline = unscanned + length;
            answer(
                &mut buffer[start..newline + PADDING],
                newline - start,
                &mut answers,
            );
            start = newline + 1;
            unscanned = start;
        }
        if start == end {
            (start, end) = (0, 0);
        }
        output.write_all(&answers)?;
        answers.clear();
    }
}

const READ_BYTES: usize = 64 * 1024;

macro_rules! server_info {
    () => {
        r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"demo","version":"1.0.0"}}}}"#
    };
}

/// What stands between the id and the text of a call's answer, and from behind the text.
pub const TEXT: &str = r#","result":{"resultType":"complete","content":[{"type":"text","text":"#;
pub const TEXT_END: &str = concat!("}],", server_info!(), "\n");
/// From behind the id to the newline.
pub const DISCOVER: &str = concat!(
    r#","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"#,
    r#""ttlMs":300000,"cacheScope":"public","#,
    server_info!(),
    "\n",
);
/// As [`DISCOVER`].
pub const LIST: &str = concat!(
    r#","result":{"resultType":"complete","tools":["#,
    r#"{"name":"add","description":"Add two numbers","inputSchema":{"type":"object","#,
    r#""properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}},"#,
    r#"{"name":"echo","description":"Say it back","inputSchema":{"type":"object","#,
    r#""properties":{"message":{"type":"string"}},"required":["message"]}}],"#,
    r#""ttlMs":300000,"cacheScope":"public","#,
    server_info!(),
    "\n",
);
/// As [`DISCOVER`].
pub const UNKNOWN: &str = concat!(
    r#","error":{"code":-32601,"message":"Method not found"}}"#,
    "\n"
);
