//! The server side of `aws-chunked`: verifies a body in signed chunks.
//!
//! The framing is the chunked transfer coding, with signatures in extensions and trailers. The decoder therefore uses
//! the reader of the chunked transfer coding. The decoder passes on data as it arrives. A wrong signature is detected
//! only at the end of its chunk. Callers must therefore not publish stored data before [`Event::End`].

use super::chunk_encoder::{CHUNK_SIGNATURE, TRAILER_SIGNATURE, trailer_hash};
use super::chunk_signatures::SignatureChain;
use super::payload::{EMPTY_SHA256, Streaming, Trailer};
use super::signing_key::Signature;
use crate::checksum::{Checksum, Hasher};
use crate::chunked::{ChunkError, ChunkReader, Observer, Step};
use crate::message::{Event, Progress};
use sha2::{Digest, Sha256};

/// The reason why a chunked body is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChunkRefusal {
    /// The framing is not valid.
    #[error("a chunk is not valid")]
    Syntax,
    /// Extensions or trailers are larger than their limits.
    #[error("chunk extensions or trailers are larger than 16 KiB")]
    TooLarge,
    /// A chunk has no signature, or its signature is not 64 hexadecimal digits.
    #[error("a chunk has no valid signature")]
    NoSignature,
    /// The signature of a chunk or trailer is wrong.
    #[error("the signature of a chunk does not match")]
    Mismatch,
    /// The trailer is not valid, or differs from the announcement in `x-amz-trailer`.
    #[error("the trailer is not valid, or differs from x-amz-trailer")]
    BadTrailer,
    /// The checksum in the trailer does not match the data.
    #[error("the checksum in the trailer does not match")]
    ChecksumDiffers,
    /// The length of the data differs from `x-amz-decoded-content-length`.
    #[error("the length of the body differs from x-amz-decoded-content-length")]
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

/// The decoder of one body.
#[derive(Debug)]
pub struct ChunkDecoder {
    reader: ChunkReader,
    framing: PendingFraming,
    chain: Option<SignatureChain>,
    checksum: Option<(Trailer, Hasher)>,
    /// The hash of the current chunk. Used only if chunks are signed.
    hash: Sha256,
    signature: Option<Signature>,
    /// Number of remaining data bytes.
    left: u64,
    ended: Option<Result<(), ChunkRefusal>>,
}

/// Framing that has been read but not yet processed. Its size is limited, because the chunk reader limits the sizes of
/// extensions and trailers.
#[derive(Debug, Default)]
struct PendingFraming {
    extension: Vec<u8>,
    trailer: Vec<u8>,
    /// `Some` after a complete size line. True if the line belongs to the last chunk.
    line: Option<bool>,
}

impl Observer for PendingFraming {
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
    /// Creates a decoder. Signed chunks need a `chain`.
    pub(super) fn new(chain: Option<SignatureChain>, streaming: Streaming, body_bytes: u64) -> Self {
        Self {
            reader: ChunkReader::new(),
            framing: PendingFraming::default(),
            chain,
            checksum: streaming.trailer().map(|trailer| (trailer, Hasher::new(trailer.algorithm()))),
            hash: Sha256::new(),
            signature: None,
            left: body_bytes,
            ended: None,
        }
    }

    /// Returns the number of remaining data bytes.
    pub fn bytes_left(&self) -> u64 {
        self.left
    }

    /// Returns whether the whole body was read and is valid.
    pub fn is_complete(&self) -> bool {
        self.ended == Some(Ok(()))
    }

    /// Reads from `input` like [`crate::RequestReader::read`], but without [`Event::Head`]. After an error, every further
    /// call returns the same error.
    pub fn read(&mut self, input: &[u8]) -> Result<Progress, ChunkRefusal> {
        match self.ended {
            Some(Ok(())) => return Ok(Progress::new(0, Event::End)),
            Some(Err(refusal)) => return Err(refusal),
            None => {}
        }
        self.step(input).inspect_err(|refusal| self.ended = Some(Err(*refusal)))
    }

    fn step(&mut self, input: &[u8]) -> Result<Progress, ChunkRefusal> {
        let step = self.reader.read_observed(input, &mut self.framing);
        // The size line is processed before any error of the reader is reported. The result thus does not depend on how
        // the input is split into pieces.
        if let Some(last) = self.framing.line.take() {
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
        let extension = std::mem::take(&mut self.framing.extension);
        let Some(chain) = &mut self.chain else { return Ok(()) };
        let text = extension.trim_ascii().strip_prefix(b";").map(<[u8]>::trim_ascii);
        let digits = text.and_then(|text| text.strip_prefix(CHUNK_SIGNATURE.as_bytes()));
        let signature = digits.and_then(Signature::parse).ok_or(ChunkRefusal::NoSignature)?;
        self.reader.reset_extension_count();
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
        let text = std::mem::take(&mut self.framing.trailer);
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
        let announced = Checksum::from_base64(trailer.algorithm(), value).ok_or(ChunkRefusal::BadTrailer)?;
        match (announced == hasher.finish(), fields.0.is_empty()) {
            (_, false) => Err(ChunkRefusal::BadTrailer),
            (false, true) => Err(ChunkRefusal::ChecksumDiffers),
            (true, true) => Ok(()),
        }
    }
}

/// Names and values of the trailer fields.
struct Fields<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Fields<'a> {
    /// Parses lines that end in a carriage return without a line feed, because observers get no line feeds.
    fn parse(text: &'a [u8]) -> Result<Self, ChunkRefusal> {
        let text = std::str::from_utf8(text).map_err(|_| ChunkRefusal::BadTrailer)?;
        let fields = text.split_terminator('\r').map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name, value.trim_matches([' ', '\t'])))
        });
        fields.collect::<Option<_>>().map(Self).ok_or(ChunkRefusal::BadTrailer)
    }

    /// Removes the field with this name and returns its value.
    fn take(&mut self, name: &str) -> Result<&'a str, ChunkRefusal> {
        let at = self.0.iter().position(|(field, _)| field.eq_ignore_ascii_case(name));
        Ok(self.0.swap_remove(at.ok_or(ChunkRefusal::BadTrailer)?).1)
    }
}
