//! What stands in packets of SFTP, version 3: numbers, texts, attributes and names, read within their bounds.

use std::io;

/// Something in a directory.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) is_directory: bool,
    pub(super) size: u64,
    /// Last change, in seconds of Unix time.
    pub(super) changed: u64,
}

/// What is left of a packet.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, bytes: usize) -> io::Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(io::ErrorKind::InvalidData)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn number(&mut self) -> io::Result<u32> {
        let bytes = self.take(4)?.first_chunk().ok_or(io::ErrorKind::InvalidData)?;
        Ok(u32::from_be_bytes(*bytes))
    }

    pub(super) fn bytes(&mut self) -> io::Result<&'a [u8]> {
        let bytes = self.number()? as usize;
        self.take(bytes)
    }
}

/// What is told of a file.
#[derive(Default)]
pub(super) struct Attributes {
    pub(super) size: u64,
    is_directory: bool,
    changed: u64,
}

impl Attributes {
    pub(super) fn read(fields: &mut Fields<'_>) -> io::Result<Self> {
        let flags = fields.number()?;
        let mut found = Self::default();
        if flags & 1 != 0 {
            found.size = u64::from(fields.number()?) << 32 | u64::from(fields.number()?);
        }
        if flags & 2 != 0 {
            fields.take(8)?;
        }
        if flags & 4 != 0 {
            found.is_directory = fields.number()? & 0o170_000 == 0o040_000;
        }
        if flags & 8 != 0 {
            fields.take(4)?;
            found.changed = u64::from(fields.number()?);
        }
        if flags & 0x8000_0000 != 0 {
            for _ in 0..fields.number()? {
                fields.bytes()?;
                fields.bytes()?;
            }
        }
        Ok(found)
    }
}

/// Adds the entries that an answer names, but for the directory itself and its parent.
pub(super) fn names(body: &[u8], entries: &mut Vec<Entry>) -> io::Result<()> {
    let mut fields = Fields(body);
    for _ in 0..fields.number()? {
        let name = String::from_utf8_lossy(fields.bytes()?).into_owned();
        fields.bytes()?;
        let Attributes { size, is_directory, changed } = Attributes::read(&mut fields)?;
        if name != "." && name != ".." {
            entries.push(Entry { name, is_directory, size, changed });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peer_sends_is_read_within_its_bounds() {
        let mut body = vec![0, 0, 0, 1, 0, 0, 0, 1, b'a', 0, 0, 0, 0];
        body.extend([0, 0, 0, 0b1101, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0x81, 0xa4, 0, 0, 0, 1, 0, 0, 0, 2]);
        let mut entries = Vec::new();
        names(&body, &mut entries).unwrap();
        let [entry] = &entries[..] else { panic!("there is one") };
        assert_eq!((entry.name.as_str(), entry.is_directory, entry.size, entry.changed), ("a", false, 7, 2));
        for cut in 0..body.len() {
            assert!(names(&body[..cut], &mut Vec::new()).is_err(), "{cut}");
        }
        assert!(names(&[0xff; 8], &mut Vec::new()).is_err());
    }
}
