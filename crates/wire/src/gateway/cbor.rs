//! Minimal reader of DAG-CBOR items. The reader supports only the items that CAR headers and links need. DAG-CBOR has
//! no items of indefinite length.

/// Tag of a CID.
const CID_TAG: u64 = 42;

/// An item, or the beginning of an array or map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item<'a> {
    Unsigned(u64),
    Bytes(&'a [u8]),
    Text(&'a [u8]),
    Array(u64),
    Map(u64),
    /// The tag of a link. The next item is the link.
    Link,
    /// A negative number, a float, a simple value or another tag.
    Other,
}

/// Removes the next item from the input and returns it. `None` at the end, or if the item is not valid.
pub(super) fn next<'a>(input: &mut &'a [u8]) -> Option<Item<'a>> {
    let (&first, mut rest) = input.split_first()?;
    let argument = match first & 0x1f {
        small @ 0..24 => u64::from(small),
        size @ 24..28 => {
            let (bytes, after) = rest.split_at_checked(1 << (size - 24))?;
            rest = after;
            bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
        }
        _ => return None,
    };
    let mut content = || {
        let (content, after) = rest.split_at_checked(usize::try_from(argument).ok()?)?;
        rest = after;
        Some(content)
    };
    let item = match first >> 5 {
        0 => Item::Unsigned(argument),
        2 => Item::Bytes(content()?),
        3 => Item::Text(content()?),
        4 => Item::Array(argument),
        5 => Item::Map(argument),
        6 if argument == CID_TAG => Item::Link,
        _ => Item::Other,
    };
    *input = rest;
    Some(item)
}
