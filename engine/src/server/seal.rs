//! [`Seal`]: what makes a `requestState` one that this server issued for this very request.
//!
//! ```text
//!   base64url( version ‖ expiry ‖ payload ‖ HMAC-SHA256(version ‖ expiry ‖ payload ‖ binding) )
//! ```
//!
//! The binding is a digest of who asks for what: principal, method, name and arguments. It is not
//! sent, since the retry brings all of it again. The payload can be read by the client; it cannot
//! be changed by it.
//!
//! Specification: 2026-07-28, `basic/patterns/mrtr`, Server Requirements.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac_sha256::{HMAC, Hash};
use tightwire_codec::{JsonWriter, Number, Value};

use crate::error::RpcError;

/// The key of a server's seals.
#[derive(Clone)]
pub(crate) struct Seal {
    key: [u8; 32],
}

/// On whose behalf a connection asks, to which states and tasks are bound. One without authentication
/// tells nobody apart.
pub(crate) const PRINCIPAL: &str = "";

/// What a state is bound to.
pub(crate) type Binding = [u8; 32];

const VERSION: u8 = 1;
/// The version and the expiry.
const HEAD_BYTES: usize = 9;
const MAC_BYTES: usize = 32;

impl Seal {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// Seals a payload until `expires`, in milliseconds of wall time.
    pub(crate) fn seal(&self, payload: &[u8], binding: &Binding, expires: u64) -> String {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + payload.len() + MAC_BYTES);
        bytes.push(VERSION);
        bytes.extend_from_slice(&expires.to_le_bytes());
        bytes.extend_from_slice(payload);
        let mac = self.mac(&bytes, binding);
        bytes.extend_from_slice(&mac);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The payload of a state.
    ///
    /// # Errors
    ///
    /// -32602 for one that was not issued for this request, or has expired.
    pub(crate) fn open(
        &self,
        state: &str,
        binding: &Binding,
        now_unix_ms: u64,
    ) -> Result<Vec<u8>, RpcError> {
        let foreign = || {
            RpcError::invalid_params(
                "params.requestState was not issued by this server for this request",
            )
        };
        let mut bytes = URL_SAFE_NO_PAD.decode(state).map_err(|_| foreign())?;
        let signed = bytes
            .len()
            .checked_sub(MAC_BYTES)
            .filter(|signed| *signed >= HEAD_BYTES)
            .ok_or_else(foreign)?;
        let (head, mac) = bytes.split_at(signed);
        if head[0] != VERSION || !is_equal(&self.mac(head, binding), mac) {
            return Err(foreign());
        }
        let expires = head[1..HEAD_BYTES]
            .iter()
            .rev()
            .fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
        if now_unix_ms >= expires {
            return Err(RpcError::invalid_params(
                "params.requestState has expired: make the request again without it",
            ));
        }
        bytes.truncate(signed);
        bytes.drain(..HEAD_BYTES);
        Ok(bytes)
    }

    /// An id that no other thing of this server has: what the key makes of the time and of a number
    /// that is used once, since numbers begin anew with each process.
    pub(crate) fn unique_id(&self, unix_ms: u64) -> String {
        const ID_BYTES: usize = 18;
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut mac = HMAC::new(self.key);
        mac.update(unix_ms.to_le_bytes());
        mac.update(number.to_le_bytes());
        URL_SAFE_NO_PAD.encode(&mac.finalize()[..ID_BYTES])
    }

    fn mac(&self, bytes: &[u8], binding: &Binding) -> [u8; MAC_BYTES] {
        let mut mac = HMAC::new(self.key);
        mac.update(bytes);
        mac.update(binding);
        mac.finalize()
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

/// Digests who asks for what. Each part is preceded by its length, so that no two requests give
/// the same bytes.
pub(crate) fn bind(
    principal: &str,
    method: &str,
    name: &str,
    arguments: Option<Value<'_>>,
) -> Binding {
    let mut canonical = Vec::new();
    // Those that are left out are none.
    write_canonical(arguments.unwrap_or(Value::EMPTY_OBJECT), &mut canonical);
    let mut hash = Hash::new();
    for part in [
        principal.as_bytes(),
        method.as_bytes(),
        name.as_bytes(),
        &canonical,
    ] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()
}

/// Writes a value so that equal values give equal bytes: members in the order of their names,
/// numbers by their value.
fn write_canonical(value: Value<'_>, out: &mut Vec<u8>) {
    if let Some(object) = value.as_object() {
        let mut members: Vec<(&str, Value<'_>)> = object.iter().collect();
        members.sort_by_key(|(name, _)| *name);
        out.push(b'{');
        for (name, value) in members {
            JsonWriter::new(out).key(name);
            write_canonical(value, out);
            out.push(b',');
        }
        out.push(b'}');
    } else if let Some(items) = value.as_array() {
        out.push(b'[');
        for item in items {
            write_canonical(item, out);
            out.push(b',');
        }
        out.push(b']');
    } else {
        let mut writer = JsonWriter::new(out);
        match value.as_number() {
            Some(number) => write_number(number, &mut writer),
            None => writer.value(value),
        }
    }
}

fn write_number(number: Number, writer: &mut JsonWriter<'_>) {
    if let Some(integer) = number.as_i64() {
        writer.i64(integer);
    } else if let Some(integer) = number.as_u64() {
        writer.u64(integer);
    } else {
        writer.f64(number.as_f64());
    }
}

/// Compares in a time that does not tell where the first difference is.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .fold(0, |difference, (a, b)| difference | (a ^ b))
            == 0
}

#[cfg(test)]
mod tests {
    use tightwire_codec::{LINE_PADDING, Line, Parser};

    use super::*;

    fn bound(method: &str, name: &str, arguments: &str) -> Binding {
        let mut bytes = arguments.as_bytes().to_vec();
        bytes.resize(arguments.len() + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, arguments.len()).unwrap();
        let mut parser = Parser::default();
        let document = parser.parse(&mut line).unwrap();
        bind("", method, name, Some(document.root()))
    }

    #[test]
    fn a_state_opens_for_its_request_alone() {
        let seal = Seal::new([7; 32]);
        let binding = bound("a", "b", r#"{"x":1}"#);
        let state = seal.seal(b"payload", &binding, 1000);
        assert_eq!(seal.open(&state, &binding, 999).unwrap(), b"payload");
        assert!(seal.open(&state, &binding, 1000).is_err());
        for other in [
            bound("a", "c", r#"{"x":1}"#),
            bound("b", "b", r#"{"x":1}"#),
            bound("ab", "", r#"{"x":1}"#),
            bound("a", "b", r#"{"x":2}"#),
            bound("a", "b", r#"{"y":1}"#),
        ] {
            assert!(seal.open(&state, &other, 0).is_err());
        }
        assert!(Seal::new([8; 32]).open(&state, &binding, 0).is_err());
    }

    #[test]
    fn every_changed_character_is_noticed() {
        let seal = Seal::new([7; 32]);
        let binding = bound("a", "b", "{}");
        let state = seal.seal(b"payload", &binding, u64::MAX);
        for at in 0..state.len() {
            let mut changed = state.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(seal.open(&changed, &binding, 0).is_err(), "{at}");
            assert!(seal.open(&state[..at], &binding, 0).is_err(), "{at}");
        }
        assert!(seal.open(&(state + "A"), &binding, 0).is_err());
        assert!(seal.open("", &binding, 0).is_err());
    }

    #[test]
    fn the_order_of_members_and_the_form_of_numbers_do_not_matter() {
        assert_eq!(
            bound("a", "b", r#"{"x":1,"y":{"a":1.0,"b":[1e0]}}"#),
            bound("a", "b", r#"{"y":{"b":[1],"a":1},"x":1.00}"#)
        );
        assert_ne!(bound("a", "b", "[1,2]"), bound("a", "b", "[2,1]"));
        assert_ne!(bound("a", "b", "[1]"), bound("a", "b", r#"["1"]"#));
    }
}
