//! Reading a body that comes in chunks (`aws-chunked`): the server's side.
//!
//! The framing is that of HTTP's own chunks, with signatures in their extensions and trailers, and the same reader
//! finds it. Nothing is held back: data are handed on as they come, and a chunk whose signature is wrong is refused at
//! its end. Who stores data must not let them be seen before [`Event::End`].

use super::chain::Chain;
use super::chunks::{CHUNK_SIGNATURE, TRAILER_SIGNATURE, trailer_hash};
use super::key::Signature;
use super::payload::{EMPTY_SHA256, Streaming, Trailer};
use crate::checksum::{Checksum, Hasher};
use crate::chunked::{ChunkError, ChunkReader, Observer, Step};
use crate::message::{Event, Progress};
use sha2::{Digest, Sha256};

/// Why a chunked body is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChunkRefusal {
    /// The framing is not valid.
    #[error("a chunk is not valid")]
    Syntax,
    /// More extensions or trailers than a body may have.
    #[error("chunk extensions or trailers are larger than 16 KiB")]
    TooLarge,
    /// A chunk without a signature, or with one that is not 64 hexadecimal digits.
    #[error("a chunk has no valid signature")]
    NoSignature,
    /// A signature is not the one of its chunk or trailer.
    #[error("the signature of a chunk does not match")]
    Mismatch,
    /// The trailer is not what `x-amz-trailer` said, or is not valid.
    #[error("the trailer is not the one announced")]
    BadTrailer,
    /// The data are not those that the checksum was made of.
    #[error("the checksum in the trailer does not match")]
    ChecksumDiffers,
    /// The data are not as long as `x-amz-decoded-content-length` said.
    #[error("the body is not as long as x-amz-decoded-content-length says")]
    LengthDiffers,
}

impl From<ChunkError> for ChunkRefusal {
    fn from(error: ChunkError) -> Self {
        match error {
            ChunkError::Syntax => Self::Syntax,
            ChunkError::ExtensionsTooLarge | ChunkError::TrailersTooLarge => Self::TooLarge,
        }
    }
}

/// Reads one body.
#[derive(Debug)]
pub struct ChunkDecoder {
    reader: ChunkReader,
    seen: Seen,
    chain: Option<Chain>,
    checksum: Option<(Trailer, Hasher)>,
    /// Of the chunk that is being read, while chunks are signed.
    hash: Sha256,
    signature: Option<Signature>,
    /// Data bytes that still have to come.
    left: u64,
    ended: Option<Result<(), ChunkRefusal>>,
}

/// Framing that has been read and not yet been looked at. Bounded by the reader's own limits.
#[derive(Debug, Default)]
struct Seen {
    extension: Vec<u8>,
    trailer: Vec<u8>,
    /// The size line of a chunk is complete; whether it was the last chunk.
    line: Option<bool>,
}

impl Observer for Seen {
    fn extension(&mut self, byte: u8) {
        self.extension.push(byte);
    }

    fn size_line(&mut self, size: u64) {
        self.line = Some(size == 0);
    }

    fn trailer(&mut self, byte: u8) {
        self.trailer.push(byte);
    }
}

impl ChunkDecoder {
    /// `chain` is there when chunks are signed.
    pub(super) fn new(chain: Option<Chain>, streaming: Streaming, body_bytes: u64) -> Self {
        Self {
            reader: ChunkReader::new(),
            seen: Seen::default(),
            chain,
            checksum: streaming.trailer().map(|trailer| (trailer, Hasher::new(trailer.algorithm()))),
            hash: Sha256::new(),
            signature: None,
            left: body_bytes,
            ended: None,
        }
    }

    /// How many data bytes have still to come.
    pub fn bytes_left(&self) -> u64 {
        self.left
    }

    /// Whether the body was read to its end, and was good.
    pub fn is_complete(&self) -> bool {
        self.ended == Some(Ok(()))
    }

    /// Reads from `input`, as [`crate::RequestReader::read`] does; there is no [`Event::Head`]. After an error every
    /// further call gives the same error.
    pub fn read(&mut self, input: &[u8]) -> Result<Progress, ChunkRefusal> {
        match self.ended {
            Some(Ok(())) => return Ok(Progress::new(0, Event::End)),
            Some(Err(refusal)) => return Err(refusal),
            None => {}
        }
        self.step(input).inspect_err(|refusal| self.ended = Some(Err(*refusal)))
    }

    fn step(&mut self, input: &[u8]) -> Result<Progress, ChunkRefusal> {
        let step = self.reader.read_observed(input, &mut self.seen);
        // Before the reader's own error: that lies behind the line, and a shorter piece of input would not have had it.
        if let Some(last) = self.seen.line.take() {
            self.begin_chunk(last)?;
        }
        Ok(match step? {
            Step::NeedMore => Progress::new(input.len(), Event::NeedMore),
            Step::Data(range) => {
                self.take(&input[range.clone()])?;
                Progress::new(range.end, Event::Body(range))
            }
            Step::End(consumed) => {
                self.end()?;
                self.ended = Some(Ok(()));
                Progress::new(consumed, Event::End)
            }
        })
    }

    fn begin_chunk(&mut self, last: bool) -> Result<(), ChunkRefusal> {
        let extension = std::mem::take(&mut self.seen.extension);
        let Some(chain) = &mut self.chain else { return Ok(()) };
        let text = extension.trim_ascii().strip_prefix(b";").map(<[u8]>::trim_ascii);
        let digits = text.and_then(|text| text.strip_prefix(CHUNK_SIGNATURE.as_bytes()));
        let signature = digits.and_then(Signature::parse).ok_or(ChunkRefusal::NoSignature)?;
        self.reader.forgive_extensions();
        if !last {
            self.signature = Some(signature);
        } else if !chain.verifies_chunk(&EMPTY_SHA256, signature) {
            return Err(ChunkRefusal::Mismatch);
        }
        Ok(())
    }

    fn take(&mut self, data: &[u8]) -> Result<(), ChunkRefusal> {
        self.left = self.left.checked_sub(data.len() as u64).ok_or(ChunkRefusal::LengthDiffers)?;
        if let Some((_, hasher)) = &mut self.checksum {
            hasher.update(data);
        }
        let Some(chain) = &mut self.chain else { return Ok(()) };
        self.hash.update(data);
        if self.reader.opaque_bytes() > 0 {
            return Ok(());
        }
        let sha256 = self.hash.finalize_reset().into();
        let signature = self.signature.take().ok_or(ChunkRefusal::NoSignature)?;
        if chain.verifies_chunk(&sha256, signature) { Ok(()) } else { Err(ChunkRefusal::Mismatch) }
    }

    fn end(&mut self) -> Result<(), ChunkRefusal> {
        if self.left > 0 {
            return Err(ChunkRefusal::LengthDiffers);
        }
        let text = std::mem::take(&mut self.seen.trailer);
        let mut fields = Fields::parse(&text)?;
        let Some((trailer, hasher)) = self.checksum.take() else {
            return if fields.0.is_empty() { Ok(()) } else { Err(ChunkRefusal::BadTrailer) };
        };
        let value = fields.take(trailer.name())?;
        if let Some(chain) = &mut self.chain {
            let digits = fields.take(TRAILER_SIGNATURE)?;
            let signature = Signature::parse(digits.as_bytes()).ok_or(ChunkRefusal::NoSignature)?;
            if !chain.verifies_trailer(&trailer_hash(trailer.name(), value), signature) {
                return Err(ChunkRefusal::Mismatch);
            }
        }
        let said = Checksum::from_base64(trailer.algorithm(), value).ok_or(ChunkRefusal::BadTrailer)?;
        match (said == hasher.finish(), fields.0.is_empty()) {
            (_, false) => Err(ChunkRefusal::BadTrailer),
            (false, true) => Err(ChunkRefusal::ChecksumDiffers),
            (true, true) => Ok(()),
        }
    }
}

/// Names and values of a trailer.
struct Fields<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Fields<'a> {
    /// Lines end in a carriage return here: their line feeds are not observed.
    fn parse(text: &'a [u8]) -> Result<Self, ChunkRefusal> {
        let text = std::str::from_utf8(text).map_err(|_| ChunkRefusal::BadTrailer)?;
        let fields = text.split_terminator('\r').map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name, value.trim_matches([' ', '\t'])))
        });
        fields.collect::<Option<_>>().map(Self).ok_or(ChunkRefusal::BadTrailer)
    }

    /// The value of the one field with this name.
    fn take(&mut self, name: &str) -> Result<&'a str, ChunkRefusal> {
        let at = self.0.iter().position(|(field, _)| field.eq_ignore_ascii_case(name));
        Ok(self.0.swap_remove(at.ok_or(ChunkRefusal::BadTrailer)?).1)
    }
}
