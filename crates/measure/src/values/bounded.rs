//! Limits for reading saved records. A list or string is rejected if it is longer than this program ever writes. A
//! hostile file may therefore slow down a reader, but cannot exhaust its memory.

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// Reads a list of at most `MOST` elements, for `#[serde(deserialize_with)]`.
///
/// # Errors
/// Fails if an element cannot be read, or if the list is longer. The rest of a longer list is not read.
pub fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MOST: usize>(from: D) -> Result<Vec<T>, D::Error> {
    struct ListVisitor<T, const MOST: usize>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for ListVisitor<T, MOST> {
        type Value = Vec<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MOST} elements")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(element) = seq.next_element()? {
                if list.len() == MOST {
                    return Err(A::Error::invalid_length(MOST + 1, &self));
                }
                list.push(element);
            }
            Ok(list)
        }
    }
    from.deserialize_seq(ListVisitor::<T, MOST>(PhantomData))
}

/// Reads a string of at most `MOST` bytes, for `#[serde(deserialize_with)]`.
///
/// # Errors
/// Fails if the string is longer.
pub fn text<'de, D: Deserializer<'de>, const MOST: usize>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).and_then(fitting::<D::Error, MOST>)
}

/// Reads an optional string of at most `MOST` bytes, for `#[serde(deserialize_with)]`.
///
/// # Errors
/// Fails like [`text`].
pub fn optional_text<'de, D: Deserializer<'de>, const MOST: usize>(from: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(from)?.map(fitting::<D::Error, MOST>).transpose()
}

fn fitting<E: Error, const MOST: usize>(text: String) -> Result<String, E> {
    match text.len() {
        bytes if bytes > MOST => Err(E::custom(format!("a string of {bytes} bytes is longer than {MOST}"))),
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Bounded {
        #[serde(deserialize_with = "list::<_, _, 3>")]
        list: Vec<u8>,
        #[serde(deserialize_with = "text::<_, 4>")]
        text: String,
        #[serde(deserialize_with = "optional_text::<_, 4>")]
        optional: Option<String>,
    }

    #[test]
    fn long_lists_and_strings_are_rejected() {
        let read = |text: &str| serde_json::from_str::<Bounded>(text);
        let fits = read(r#"{"list":[1,2,3],"text":"abcd","optional":null}"#).unwrap();
        assert_eq!((fits.list, fits.text, fits.optional), (vec![1, 2, 3], "abcd".to_owned(), None));
        for (text, why) in [
            (r#"{"list":[1,2,3,4],"text":""}"#, "at most 3 elements"),
            (r#"{"list":[],"text":"abcde"}"#, "5 bytes is longer than 4"),
            (r#"{"list":[],"text":"","optional":"abcde"}"#, "5 bytes is longer than 4"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
