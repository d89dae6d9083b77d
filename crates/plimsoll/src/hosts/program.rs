//! The program file of this process, which all agents must run too.

use crate::failure::Failure;
use fleet::message::Hash;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// Size of the pieces in which the file is read. The whole file would take much memory.
const PIECE_BYTES: usize = 256 << 10;

/// The program file of this process.
pub struct Program {
    // The descriptor stays valid even if another version replaces the file.
    file: File,
    size: u64,
    hash: Hash,
}

impl Program {
    /// Opens the program file of this process, and computes its hash.
    pub fn of_this_process() -> Result<Self, Failure> {
        // The link in /proc leads to the running program, even if another version has replaced its file.
        let opened = File::open("/proc/self/exe").and_then(|file| {
            let size = file.metadata()?.len();
            let hash = Hash::of_pieces(|take| {
                for_each_piece(&file, |piece| {
                    take(piece);
                    Ok(())
                })
            })?;
            Ok(Self { file, size, hash })
        });
        opened.map_err(|error| Failure::could_not_run(format!("cannot read the program file of this process: {error}")))
    }

    /// Returns the size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Writes a copy of the file. Several threads may do so at the same time.
    pub fn copy_to(&self, output: &mut dyn Write) -> io::Result<()> {
        for_each_piece(&self.file, |piece| output.write_all(piece))
    }

    /// Returns the hash of the file.
    pub fn hash(&self) -> Hash {
        self.hash
    }
}

fn for_each_piece(file: &File, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let (mut piece, mut at) = (vec![0; PIECE_BYTES], 0);
    loop {
        let count = file.read_at(&mut piece, at)?;
        if count == 0 {
            return Ok(());
        }
        take(&piece[..count])?;
        at += count as u64;
    }
}
