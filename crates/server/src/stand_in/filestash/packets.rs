//! Contents of SFTP packets (version 3): numbers, strings, attributes and names, parsed with bounds checks.

use std::io;

/// An entry of a directory.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) is_directory: bool,
    pub(super) size: u64,
    /// Modification time, in seconds of Unix time.
    pub(super) changed: u64,
}

/// A reader of the remaining bytes of a packet.
pub(super) struct PacketReader<'a>(pub(super) &'a [u8]);

impl<'a> PacketReader<'a> {
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

/// Attributes of a file.
#[derive(Default)]
pub(super) struct Attributes {
    pub(super) size: u64,
    is_directory: bool,
    changed: u64,
}

impl Attributes {
    /// Reads attributes.
    ///
    /// # Errors
    /// Fails if the packet is too short.
    pub(super) fn read(packet: &mut PacketReader<'_>) -> io::Result<Self> {
        let flags = packet.number()?;
        let mut found = Self::default();
        if flags & 1 != 0 {
            found.size = u64::from(packet.number()?) << 32 | u64::from(packet.number()?);
        }
        if flags & 2 != 0 {
            packet.take(8)?;
        }
        if flags & 4 != 0 {
            found.is_directory = packet.number()? & 0o170_000 == 0o040_000;
        }
        if flags & 8 != 0 {
            packet.take(4)?;
            found.changed = u64::from(packet.number()?);
        }
        if flags & 0x8000_0000 != 0 {
            for _ in 0..packet.number()? {
                packet.bytes()?;
                packet.bytes()?;
            }
        }
        Ok(found)
    }
}

/// Appends the entries in a response, except `.` and `..`.
pub(super) fn read_names(body: &[u8], entries: &mut Vec<Entry>) -> io::Result<()> {
    let mut packet = PacketReader(body);
    for _ in 0..packet.number()? {
        let name = String::from_utf8_lossy(packet.bytes()?).into_owned();
        packet.bytes()?;
        let Attributes { size, is_directory, changed } = Attributes::read(&mut packet)?;
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
    fn packets_of_a_peer_are_parsed_within_their_bounds() {
        let mut body = vec![0, 0, 0, 1, 0, 0, 0, 1, b'a', 0, 0, 0, 0];
        body.extend([0, 0, 0, 0b1101, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0x81, 0xa4, 0, 0, 0, 1, 0, 0, 0, 2]);
        let mut entries = Vec::new();
        read_names(&body, &mut entries).unwrap();
        let [entry] = &entries[..] else { panic!("one entry expected") };
        assert_eq!((entry.name.as_str(), entry.is_directory, entry.size, entry.changed), ("a", false, 7, 2));
        for cut in 0..body.len() {
            assert!(read_names(&body[..cut], &mut Vec::new()).is_err(), "{cut}");
        }
        assert!(read_names(&[0xff; 8], &mut Vec::new()).is_err());
    }
}
