//! Perfect hashing: one probe finds a name, or proves that it is not there.
//!
//! Tables of tools, resources and prompts are built when a server is frozen, by hash and displace:
//! the keys fall into buckets, and the largest buckets first choose the displacement that puts all
//! their keys into free slots. The table of methods is built by the compiler.

/// Hashes a name, eight bytes at a time.
#[inline]
pub(crate) fn hash(name: &[u8], seed: u64) -> u64 {
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = seed ^ (name.len() as u64).wrapping_mul(K);
    let mut rest = name;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        state = mix(state ^ u64::from_le_bytes(*word));
        rest = tail;
    }
    // What is left is shorter than a word: its first four bytes and its last four, or its three.
    let tail = match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            (u32::from_le_bytes(*first) as u64) << 32 | u32::from_le_bytes(*last) as u64
        }
        _ => match rest {
            [] => 0,
            [a] => *a as u64,
            [a, b] => (*a as u64) << 8 | *b as u64,
            [a, .., b, c] => (*a as u64) << 16 | (*b as u64) << 8 | *c as u64,
        },
    };
    // Twice, so that names alike in all but a digit fall far apart.
    mix(mix(state ^ tail))
}

fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    state ^ (state >> 29)
}

/// Values by name, fixed once built.
#[derive(Debug)]
pub(crate) struct PerfectMap<T> {
    seed: u64,
    displacements: Box<[u32]>,
    /// Indexes into `entries`, or [`FREE`]; a power of two of them.
    slots: Box<[u32]>,
    entries: Vec<(Box<str>, T)>,
}

const FREE: u32 = u32::MAX;

impl<T> PerfectMap<T> {
    /// Builds the map.
    ///
    /// # Errors
    ///
    /// The first name that is there twice.
    pub(crate) fn build(entries: Vec<(Box<str>, T)>) -> Result<Self, Box<str>> {
        let mut names: Vec<&str> = entries.iter().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(pair[0].into());
        }
        let slots = (entries.len() * 2).next_power_of_two();
        let mut seed = 0;
        loop {
            // Fails for a seed under which two names hash alike, which is rare.
            if let Some((displacements, slots)) = displace(&entries, seed, slots) {
                return Ok(Self {
                    seed,
                    displacements,
                    slots,
                    entries,
                });
            }
            seed += 1;
        }
    }

    /// The value of this name, and its place.
    #[inline]
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &T)> {
        let hash = hash(name.as_bytes(), self.seed);
        let displacement = self.displacements[bucket(hash, self.displacements.len())];
        let entry = self.slots[slot(hash, displacement, self.slots.len())];
        let (key, value) = self.entries.get(entry as usize)?;
        (**key == *name).then_some((entry as usize, value))
    }

    /// The name and the value in this place.
    pub(crate) fn entry(&self, place: usize) -> Option<(&str, &T)> {
        self.entries
            .get(place)
            .map(|(name, value)| (&**name, value))
    }

    /// The value in this place.
    pub(crate) fn get(&self, place: usize) -> Option<&T> {
        self.entries.get(place).map(|(_, value)| value)
    }

    /// Takes out all entries.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.slots.fill(FREE);
        let entries = std::mem::take(&mut self.entries);
        entries.into_iter().map(|(_, entry)| entry)
    }
}

fn bucket(hash: u64, buckets: usize) -> usize {
    (hash >> 32) as usize & (buckets - 1)
}

fn slot(hash: u64, displacement: u32, slots: usize) -> usize {
    mix(hash ^ (u64::from(displacement) << 32)) as usize & (slots - 1)
}

type Tables = (Box<[u32]>, Box<[u32]>);

fn displace<T>(entries: &[(Box<str>, T)], seed: u64, slot_count: usize) -> Option<Tables> {
    const TRIES: u32 = 1 << 16;
    let bucket_count = entries.len().div_ceil(2).next_power_of_two();
    let mut buckets = vec![Vec::new(); bucket_count];
    for (index, (name, _)) in entries.iter().enumerate() {
        let hash = hash(name.as_bytes(), seed);
        buckets[bucket(hash, bucket_count)].push((hash, u32::try_from(index).ok()?));
    }
    let mut order: Vec<usize> = (0..bucket_count).collect();
    order.sort_by_key(|index| std::cmp::Reverse(buckets[*index].len()));

    let mut displacements = vec![0; bucket_count];
    let mut slots = vec![FREE; slot_count];
    for index in order {
        let keys = &buckets[index];
        let displacement = (0..TRIES).find(|displacement| {
            let mut taken: Vec<usize> = keys
                .iter()
                .map(|(hash, _)| slot(*hash, *displacement, slot_count))
                .collect();
            taken.sort_unstable();
            taken.windows(2).all(|pair| pair[0] != pair[1])
                && taken.iter().all(|slot| slots[*slot] == FREE)
        })?;
        displacements[index] = displacement;
        for (hash, entry) in keys {
            slots[slot(*hash, displacement, slot_count)] = *entry;
        }
    }
    Some((displacements.into(), slots.into()))
}

/// Values by name, built by the compiler.
///
/// What is hashed of a name is its length and its ends, which takes one multiplication and tells the
/// methods of the protocol apart.
pub(crate) struct ConstMap<T, const N: usize> {
    seed: u64,
    slots: [u8; CONST_SLOTS],
    pub(crate) entries: [(&'static str, T); N],
}

impl<T: Copy, const N: usize> ConstMap<T, N> {
    const FREE: u8 = u8::MAX;

    /// Looks for a seed under which every name has a slot of its own. Evaluated by the compiler,
    /// which fails if there is none: as when two names are alike in their length and their ends.
    pub(crate) const fn build(entries: [(&'static str, T); N]) -> Self {
        let mut seed = 1;
        while seed < 20_000 {
            let mut slots = [Self::FREE; CONST_SLOTS];
            let mut placed = 0;
            while placed < N {
                let slot = Self::slot(entries[placed].0, seed);
                if slots[slot] != Self::FREE {
                    break;
                }
                slots[slot] = placed as u8;
                placed += 1;
            }
            if placed == N {
                return Self {
                    seed,
                    slots,
                    entries,
                };
            }
            seed += 2;
        }
        panic!("no seed gives a perfect hash")
    }

    const fn slot(name: &str, seed: u64) -> usize {
        const K: u64 = 0x9E37_79B9_7F4A_7C15;
        let name = name.as_bytes();
        // Shorter names are no method's, and share a slot.
        let ends = match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                (u32::from_le_bytes(*first) as u64) << 32 | u32::from_le_bytes(*last) as u64
            }
            _ => 0,
        };
        let hash = (ends ^ name.len() as u64).wrapping_mul(seed.wrapping_mul(K));
        (hash >> (u64::BITS - CONST_SLOTS.trailing_zeros())) as usize
    }

    /// The value of this name.
    #[inline]
    pub(crate) fn find(&self, name: &str) -> Option<T> {
        let entry = self.slots[Self::slot(name, self.seed)];
        let (key, value) = self.entries.get(usize::from(entry))?;
        (*key == name).then_some(*value)
    }
}

const CONST_SLOTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn map(names: impl Iterator<Item = String>) -> PerfectMap<String> {
        PerfectMap::build(names.map(|name| (name.clone().into(), name)).collect()).unwrap()
    }

    #[test]
    fn every_name_is_found_and_no_other() {
        for count in [0, 1, 2, 3, 7, 8, 9, 100, 5000] {
            let map = map((0..count).map(|index| format!("tool_number_{index}")));
            for index in 0..count {
                let name = format!("tool_number_{index}");
                assert_eq!(map.find(&name), Some((index, &name)));
                assert_eq!(map.get(index), Some(&name));
            }
            assert_eq!(map.find("tool_number_-1"), None);
            assert_eq!(map.find(""), None);
            assert_eq!(map.get(count), None);
        }
    }

    #[test]
    fn short_names_that_are_nearly_alike_are_no_trouble() {
        let names = (0..1_000).flat_map(|index| [format!("p{index}"), format!("q{index}")]);
        assert_eq!(map(names).find("q999").map(|(place, _)| place), Some(1999));
    }

    #[test]
    fn names_that_differ_by_zeros_and_length_are_told_apart() {
        let map = map([
            "",
            "\0",
            "\0\0",
            "a",
            "a\0",
            "abcdefgh",
            "abcdefgh\0",
            "xabcdefgh",
        ]
        .into_iter()
        .map(str::to_owned));
        assert_eq!(map.find("a\0").map(|(place, _)| place), Some(4));
        assert_eq!(map.find("\0").map(|(place, _)| place), Some(1));
    }

    #[test]
    fn a_name_given_twice_is_told() {
        let entries = vec![("a".into(), 1), ("b".into(), 2), ("a".into(), 3)];
        assert_eq!(PerfectMap::build(entries).unwrap_err(), "a".into());
    }
}
