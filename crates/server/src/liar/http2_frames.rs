//! HTTP/2 frames from a client. The liar parses frames only to find the end of each request.

/// The bytes at the start of every HTTP/2 connection, sent by the client.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The size of a frame header in bytes. The header contains length, type, flags and stream ID.
const HEAD_BYTES: usize = 9;
/// The longest frame that a client may send by default.
const PAYLOAD_BYTES_MAX: usize = 1 << 14;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;

/// Bytes from a client that no script has read yet.
#[derive(Default)]
pub(super) struct Frames {
    pending: Vec<u8>,
    greeted: bool,
}

/// The error for received bytes that are not HTTP/2.
pub(super) struct NotHttp2;

impl Frames {
    /// Removes received bytes from `bytes`, up to the end of the next request. Returns whether the request is complete.
    pub(super) fn take(&mut self, bytes: &mut Vec<u8>) -> Result<bool, NotHttp2> {
        self.pending.append(bytes);
        if !self.greeted {
            let seen = PREFACE.len().min(self.pending.len());
            if self.pending[..seen] != PREFACE[..seen] {
                return Err(NotHttp2);
            }
            if seen < PREFACE.len() {
                return Ok(false);
            }
            self.pending.drain(..PREFACE.len());
            self.greeted = true;
        }
        while let Some(&[a, b, c, kind, flags, ..]) = self.pending.first_chunk::<HEAD_BYTES>() {
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            if length > PAYLOAD_BYTES_MAX {
                return Err(NotHttp2);
            }
            if self.pending.len() < HEAD_BYTES + length {
                break;
            }
            self.pending.drain(..HEAD_BYTES + length);
            if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
