//! The bytes, sizes and keys are those that another implementation makes: `vectors/*.json`, by `vectors/make.py`.

use content::{Content, Dataset, Description, Names, Seed};
use measure::units::ByteSize;
use serde::Deserialize;
use std::num::NonZeroU32;

#[derive(Deserialize)]
struct Bytes {
    seed: u64,
    key: String,
    offset: u64,
    hex: String,
}

#[derive(Deserialize)]
struct Whole {
    seed: u64,
    key: String,
    length: usize,
    sha256: String,
}

#[derive(Deserialize)]
struct Objects {
    seed: u64,
    sizes: String,
    objects: Vec<Object>,
}

#[derive(Deserialize)]
struct Object {
    index: u64,
    key: String,
    size: u64,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn ranges_are_those_of_python() {
    let vectors: Vec<Bytes> = serde_json::from_str(include_str!("vectors/content.json")).unwrap();
    assert_eq!(vectors.len(), 80);
    for Bytes { seed, key, offset, hex: expected } in vectors {
        let content = Content::new(Seed(seed));
        let object = content.object(&key);
        let mut out = vec![0; expected.len() / 2];
        object.fill(offset, &mut out);
        assert_eq!(hex(&out), expected, "seed {seed}, key {key}, offset {offset}");
        assert_eq!(object.verifier(offset).check(&out), Ok(()));
    }
}

#[test]
fn whole_objects_are_those_of_python() {
    use sha2::{Digest, Sha256};
    let vectors: Vec<Whole> = serde_json::from_str(include_str!("vectors/whole.json")).unwrap();
    assert_eq!(vectors.len(), 2);
    for Whole { seed, key, length, sha256 } in vectors {
        let mut out = vec![0; length];
        Content::new(Seed(seed)).object(&key).fill(0, &mut out);
        assert_eq!(hex(&Sha256::digest(&out)), sha256, "{key}");
    }
}

#[test]
fn sizes_and_keys_are_those_of_python() {
    let vectors: Vec<Objects> = serde_json::from_str(include_str!("vectors/dataset.json")).unwrap();
    assert_eq!(vectors.len(), 12);
    let names = Names::new("data/object-", 8, ".bin", NonZeroU32::new(256)).unwrap();
    for Objects { seed, sizes, objects } in vectors {
        let sizes = sizes.parse().unwrap();
        let seed = Seed(seed);
        let dataset =
            Dataset::new(Description { seed, count: u64::MAX, sizes, names: names.clone(), last_bytes: None });
        for Object { index, key, size } in objects {
            let made = dataset.object(index).unwrap();
            assert_eq!((made.key, made.size), (key, ByteSize(size)), "{:?}, object {index}", dataset.description());
        }
    }
}
