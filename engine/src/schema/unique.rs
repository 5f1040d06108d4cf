//! `uniqueItems`: whether two items of an array are equal, with no allocation and no sorting.
//!
//! The items are taken in blocks. Those of a block go into a hash table on the stack, and all that
//! come after the block are looked up in it. So an array of up to [`BLOCK`] items costs as many
//! looks as it has items; a longer one costs as many more as it has blocks, and runs out of steps
//! when these are more than about a hundred.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    ops::ControlFlow,
};

use tightwire_codec::{Array, Kind, Value};

use super::{
    number::{compare, integer},
    sink::Steps,
};

const BLOCK: usize = 512;
/// Twice as many, so that half of the places are empty.
const PLACES: usize = 2 * BLOCK;
/// Among so few items, each is compared with each.
const COMPARED_MAX: usize = 8;
/// Bytes of strings that are looked at in a step.
const BYTES_PER_STEP: usize = 64;

/// The places of the first two items that are equal, or of any two in a long array.
pub(super) fn repeated(
    array: Array<'_>,
    steps: &mut Steps,
) -> ControlFlow<(), Option<(usize, usize)>> {
    if array.len() > COMPARED_MAX {
        return in_blocks(array, steps);
    }
    for (second, item) in array.iter().enumerate() {
        for (first, other) in array.iter().take(second).enumerate() {
            if equal(item, other, steps)? {
                return ControlFlow::Continue(Some((first, second)));
            }
        }
    }
    ControlFlow::Continue(None)
}

fn in_blocks(array: Array<'_>, steps: &mut Steps) -> ControlFlow<(), Option<(usize, usize)>> {
    let mut block = array.iter().enumerate();
    while block.len() > 0 {
        let mut table = Table::default();
        for (index, item) in block.by_ref().take(BLOCK) {
            let hash = hash(item, steps)?;
            if let Some(first) = table.find(hash, item, steps)? {
                return ControlFlow::Continue(Some((first, index)));
            }
            table.insert(hash, index, item);
        }
        for (index, item) in block.clone() {
            let hash = hash(item, steps)?;
            if let Some(first) = table.find(hash, item, steps)? {
                return ControlFlow::Continue(Some((first, index)));
            }
        }
    }
    ControlFlow::Continue(None)
}

/// A block of items, by their hashes.
struct Table<'a> {
    places: [Option<(u64, usize, Value<'a>)>; PLACES],
}

impl Default for Table<'_> {
    fn default() -> Self {
        Self {
            places: [None; PLACES],
        }
    }
}

impl<'a> Table<'a> {
    /// The index of an item that is equal.
    fn find(
        &self,
        hash: u64,
        item: Value<'a>,
        steps: &mut Steps,
    ) -> ControlFlow<(), Option<usize>> {
        let mut place = Self::first_place(hash);
        while let Some((other_hash, index, other)) = self.places[place] {
            steps.spend(1)?;
            if other_hash == hash && equal(item, other, steps)? {
                return ControlFlow::Continue(Some(index));
            }
            place = (place + 1) % PLACES;
        }
        ControlFlow::Continue(None)
    }

    /// Half of the places are empty: there is one.
    fn insert(&mut self, hash: u64, index: usize, item: Value<'a>) {
        let mut place = Self::first_place(hash);
        while self.places[place].is_some() {
            place = (place + 1) % PLACES;
        }
        self.places[place] = Some((hash, index, item));
    }

    #[allow(clippy::cast_possible_truncation)]
    fn first_place(hash: u64) -> usize {
        hash as usize % PLACES
    }
}

/// A hash that equal values share. Values made to share theirs cost their sender steps.
fn hash(value: Value<'_>, steps: &mut Steps) -> ControlFlow<(), u64> {
    let mut hasher = DefaultHasher::new();
    feed(value, &mut hasher, steps)?;
    ControlFlow::Continue(hasher.finish())
}

fn feed(value: Value<'_>, hasher: &mut DefaultHasher, steps: &mut Steps) -> ControlFlow<()> {
    steps.spend(1)?;
    let kind = value.kind();
    std::mem::discriminant(&kind).hash(hasher);
    if let Some(text) = value.as_str() {
        feed_text(text, hasher, steps)?;
    } else if let Some(number) = value.as_number() {
        match integer(number) {
            Some(integer) => integer.hash(hasher),
            None => number.as_f64().to_bits().hash(hasher),
        }
    } else if let Some(boolean) = value.as_bool() {
        boolean.hash(hasher);
    } else if let Some(array) = value.as_array() {
        array.len().hash(hasher);
        for item in array {
            feed(item, hasher, steps)?;
        }
    } else if let Some(object) = value.as_object() {
        // In whatever order the members are, the sum of their hashes is the same.
        let mut sum: u64 = 0;
        for (name, value) in object {
            let mut member = DefaultHasher::new();
            feed_text(name, &mut member, steps)?;
            feed(value, &mut member, steps)?;
            sum = sum.wrapping_add(member.finish());
        }
        sum.hash(hasher);
    }
    ControlFlow::Continue(())
}

fn feed_text(text: &str, hasher: &mut DefaultHasher, steps: &mut Steps) -> ControlFlow<()> {
    steps.spend(text.len() / BYTES_PER_STEP)?;
    text.hash(hasher);
    ControlFlow::Continue(())
}

/// Equality as JSON Schema has it: numbers by value, objects whatever the order of their members.
fn equal(one: Value<'_>, other: Value<'_>, steps: &mut Steps) -> ControlFlow<(), bool> {
    steps.spend(1)?;
    let kind = one.kind();
    if kind != other.kind() {
        return ControlFlow::Continue(false);
    }
    ControlFlow::Continue(match kind {
        Kind::Null => true,
        Kind::Boolean => one.as_bool() == other.as_bool(),
        Kind::Number => match (one.as_number(), other.as_number()) {
            (Some(one), Some(other)) => compare(one, other).is_eq(),
            _ => false,
        },
        Kind::String => {
            let text = one.as_str().unwrap_or_default();
            steps.spend(text.len() / BYTES_PER_STEP)?;
            one.as_str() == other.as_str()
        }
        Kind::Array => return arrays_equal(one, other, steps),
        Kind::Object => return objects_equal(one, other, steps),
    })
}

fn arrays_equal(one: Value<'_>, other: Value<'_>, steps: &mut Steps) -> ControlFlow<(), bool> {
    let (Some(one), Some(other)) = (one.as_array(), other.as_array()) else {
        return ControlFlow::Continue(false);
    };
    if one.len() != other.len() {
        return ControlFlow::Continue(false);
    }
    for (one, other) in one.iter().zip(other) {
        if !equal(one, other, steps)? {
            return ControlFlow::Continue(false);
        }
    }
    ControlFlow::Continue(true)
}

fn objects_equal(one: Value<'_>, other: Value<'_>, steps: &mut Steps) -> ControlFlow<(), bool> {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else {
        return ControlFlow::Continue(false);
    };
    if one.len() != other.len() {
        return ControlFlow::Continue(false);
    }
    // Mostly the members are in the same order.
    for ((name, value), (other_name, other_value)) in one.iter().zip(other) {
        let found = if name == other_name {
            Some(other_value)
        } else {
            steps.spend(other.len())?;
            other.find(name)
        };
        let Some(found) = found else {
            return ControlFlow::Continue(false);
        };
        if !equal(value, found, steps)? {
            return ControlFlow::Continue(false);
        }
    }
    ControlFlow::Continue(true)
}
