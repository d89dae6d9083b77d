//! The program file of this process, which all agents must run too.

use crate::failure::Failure;
use fleet::message::Hash;
use std::fs::File;
use std::io::Read;

/// The program file of this process.
pub struct Program {
    bytes: Vec<u8>,
    hash: Hash,
}

impl Program {
    /// Reads the program file of this process.
    pub fn of_this_process() -> Result<Self, Failure> {
        // The link in /proc leads to the running program, even if another version has replaced its file.
        let mut bytes = Vec::new();
        let read = File::open("/proc/self/exe").and_then(|mut file| file.read_to_end(&mut bytes));
        read.map_err(|error| Failure::could_not_run(format!("cannot read the program file of this process: {error}")))?;
        let hash = Hash::of(&bytes);
        Ok(Self { bytes, hash })
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the hash of the file.
    pub fn hash(&self) -> Hash {
        self.hash
    }
}
