//! Numbers by their value: order and equality across notations, and division without rounding.

use std::{cmp::Ordering, io::Write};

use tightwire_codec::Number;

/// Compares by value, and exactly: integers above 2^53 are not rounded to floats first.
pub(super) fn compare(one: Number, other: Number) -> Ordering {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(one), None) => compare_integer(one, other.as_f64()),
        (None, Some(other)) => compare_integer(other, one.as_f64()).reverse(),
        // Neither is NaN.
        (None, None) => one
            .as_f64()
            .partial_cmp(&other.as_f64())
            .unwrap_or(Ordering::Equal),
    }
}

/// The number if it is whole and not beyond 2^65: these are all that an integer on the tape can
/// be equal to.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn integer(number: Number) -> Option<i128> {
    const BEYOND: f64 = (1_u128 << 65) as f64;
    match number {
        Number::Unsigned(value) => Some(value.into()),
        Number::Signed(value) => Some(value.into()),
        Number::Float(value) => {
            (value.fract() == 0.0 && value.abs() < BEYOND).then_some(value as i128)
        }
    }
}

/// The float has a fraction, or is larger than every integer on the tape.
#[allow(clippy::cast_possible_truncation)]
fn compare_integer(integer: i128, float: f64) -> Ordering {
    // A float beyond all integers becomes the last of them.
    match integer.cmp(&(float.floor() as i128)) {
        Ordering::Equal => Ordering::Less,
        order => order,
    }
}

/// A number without its sign, as digits and a power of ten. The digits do not end in zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: u64,
    exponent: i32,
}

impl Decimal {
    /// The number as it is written shortest: `0.1` is one tenth, not the float nearest to it.
    pub(super) fn of(number: Number) -> Self {
        let (mut digits, mut exponent) = match number {
            Number::Unsigned(value) => (value, 0),
            Number::Signed(value) => (value.unsigned_abs(), 0),
            Number::Float(value) => float_digits(value),
        };
        while digits != 0 && digits % 10 == 0 {
            digits /= 10;
            exponent += 1;
        }
        Self { digits, exponent }
    }

    /// Whether it is a whole number of times the other, which is not 0.
    pub(super) fn is_multiple_of(self, other: Self) -> bool {
        if self.digits == 0 {
            return true;
        }
        // The digits do not end in zero, so no more of the power of ten can come from them.
        let Ok(power) = u32::try_from(self.exponent - other.exponent) else {
            return false;
        };
        let modulus = u128::from(other.digits);
        let rest = u128::from(self.digits) % modulus;
        (rest * power_of_ten(power, modulus)).is_multiple_of(modulus)
    }
}

/// The digits of a float without its sign, and the power of ten they are to be multiplied with.
fn float_digits(value: f64) -> (u64, i32) {
    // At most 17 digits, a point, and an exponent of three digits.
    let mut text = [0; 32];
    let mut rest = &mut text[..];
    if write!(rest, "{:e}", value.abs()).is_err() {
        return (0, 0);
    }
    let mut digits = 0;
    let mut places = 0;
    let mut has_point = false;
    let mut bytes = text.iter();
    for byte in bytes.by_ref() {
        match byte {
            b'0'..=b'9' => {
                digits = digits * 10 + u64::from(byte - b'0');
                places += i32::from(has_point);
            }
            b'.' => has_point = true,
            _ => break,
        }
    }
    let exponent = bytes.as_slice();
    let is_negative = exponent.first() == Some(&b'-');
    let power = exponent
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .fold(0, |power, byte| power * 10 + i32::from(byte - b'0'));
    (digits, if is_negative { -power } else { power } - places)
}

/// 10^power, what is left of it. The modulus is below 2^64.
fn power_of_ten(mut power: u32, modulus: u128) -> u128 {
    let mut result = 1 % modulus;
    let mut base = 10 % modulus;
    while power > 0 {
        if power % 2 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        power /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    use Number::{Float, Signed, Unsigned};

    #[test]
    fn numbers_are_ordered_by_value() {
        let two_to_53 = 9_007_199_254_740_992;
        let ascending = [
            Float(f64::MIN),
            Float(-9_223_372_036_854_777_856.0),
            Signed(i64::MIN),
            Float(-1.5),
            Signed(-1),
            Float(-0.5),
            Unsigned(0),
            Float(f64::MIN_POSITIVE),
            Float(0.5),
            Unsigned(1),
            Float(1.5),
            Unsigned(two_to_53),
            Unsigned(two_to_53 + 1),
            Unsigned(u64::MAX),
            Float(18_446_744_073_709_551_616.0),
            Float(1e20),
            Float(1e300),
        ];
        for (place, one) in ascending.iter().enumerate() {
            for (other_place, other) in ascending.iter().enumerate() {
                let order = compare(*one, *other);
                assert_eq!(order, place.cmp(&other_place), "{one:?} and {other:?}");
            }
        }
        for (one, other) in [
            (Unsigned(1), Float(1.0)),
            (Signed(-1), Float(-1.0)),
            (Unsigned(0), Float(-0.0)),
            (Unsigned(two_to_53), Float(9_007_199_254_740_992.0)),
            (Unsigned(1 << 63), Float(9_223_372_036_854_775_808.0)),
        ] {
            assert_eq!(compare(one, other), Ordering::Equal);
            assert_eq!(compare(other, one), Ordering::Equal);
        }
    }

    #[test]
    fn multiples_are_told_without_rounding() {
        for (value, divisor, is_multiple) in [
            (Float(0.3), Float(0.1), true),
            (Float(0.300_000_000_000_000_04), Float(0.1), false),
            (Float(19.99), Float(0.01), true),
            (Float(19.995), Float(0.01), false),
            (Float(-4.5), Float(1.5), true),
            (Float(0.007_5), Float(0.000_1), true),
            (Float(0.007_51), Float(0.000_1), false),
            (Unsigned(12_391_239_123), Float(1e-8), true),
            (Float(1e308), Float(0.123_456_789), false),
            (Float(1e308), Float(0.5), true),
            (Float(1e-308), Float(1e308), false),
            (Float(5e-324), Float(5e-324), true),
            (Unsigned(0), Float(0.7), true),
            (Float(-0.0), Unsigned(7), true),
            (Unsigned(u64::MAX), Unsigned(u64::MAX), true),
            (Unsigned(u64::MAX), Unsigned(641), true),
            (Unsigned(u64::MAX - 1), Unsigned(641), false),
            (Float(1e300), Unsigned(u64::MAX), false),
            (Unsigned(100), Float(25.0), true),
            (Signed(-7), Unsigned(2), false),
            (Float(1.7976931348623157e308), Float(1e292), true),
        ] {
            let (one, other) = (Decimal::of(value), Decimal::of(divisor));
            assert_eq!(
                one.is_multiple_of(other),
                is_multiple,
                "{value:?} of {divisor:?}"
            );
        }
    }
}
