//! The TLS session of one connection. The session has no socket. A session decrypts received bytes and encrypts bytes
//! to be sent.
//!
//! rustls buffers at most one incomplete record, and the plaintext of the last input. [`Session::feed`] passes on all
//! plaintext before it returns. When the socket is empty, the session contains no plaintext.

use crate::unattributed::Unattributed;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Error, HandshakeKind};
use std::io::{self, BufRead, Write};
use std::sync::Arc;

/// Size of the largest record with its header, in bytes. RFC 5246 §6.2.3 allows 2^14 + 2048 bytes of content, which is
/// more than RFC 8446 §5.2 allows. Complete records are decrypted immediately, so at most this many received bytes can
/// still be encrypted.
pub(crate) const RECORD_BYTES_MAX: u64 = 5 + (1 << 14) + 2048;
/// Number of bytes that are kept from the start of the server's data, to recognize a response in plain HTTP.
const BEGIN_BYTES: usize = 5;

/// Result of sending bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wire {
    /// Number of plaintext bytes that were accepted. These bytes need not be sent again.
    pub taken: usize,
    /// Number of encrypted bytes that the kernel accepted.
    pub sent: usize,
}

/// The TLS side of a connection.
#[derive(Debug)]
pub(crate) struct Session {
    tls: ClientConnection,
    /// Received bytes that are not counted yet. Some of these bytes may be content that is not decrypted yet.
    unattributed: Unattributed,
    /// The first bytes from the server.
    begin: [u8; BEGIN_BYTES],
    begun: usize,
    peer_closed: bool,
}

/// Writer for rustls, made from a function that sends bytes.
struct Put<F>(F);

impl<F: FnMut(&[u8]) -> io::Result<usize>> Write for Put<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Session {
    pub(crate) fn new(config: Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, Error> {
        let tls = ClientConnection::new(config, name)?;
        Ok(Self {
            tls,
            unattributed: Unattributed::new(RECORD_BYTES_MAX),
            begin: [0; BEGIN_BYTES],
            begun: 0,
            peer_closed: false,
        })
    }

    /// Returns rustls' connection, which contains the result of the handshake.
    pub(crate) fn connection(&self) -> &ClientConnection {
        &self.tls
    }

    /// Returns whether the handshake resumed an earlier session.
    pub(crate) fn is_resumed(&self) -> bool {
        self.tls.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Returns whether the server has announced the end of its data.
    pub(crate) fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// Returns the first bytes from the server.
    pub(crate) fn begin(&self) -> &[u8] {
        &self.begin[..self.begun]
    }

    /// Records that `bytes` bytes were received.
    #[inline]
    pub(crate) fn received(&mut self, bytes: usize) {
        self.unattributed.add(bytes as u64);
    }

    /// Records that `body` more of the received bytes are content. Returns how many received bytes can be counted now.
    #[inline]
    pub(crate) fn attribute(&mut self, body: usize) -> usize {
        self.unattributed.attribute(body as u64) as usize
    }

    /// Returns and resets the number of received bytes that are not counted yet. Called at the end of the attempt that
    /// received the bytes.
    #[inline]
    pub(crate) fn take_unattributed(&mut self) -> u64 {
        self.unattributed.take_all()
    }

    /// Continues the handshake. When the handshake is complete, returns how many bytes of the input belong to the
    /// handshake.
    pub(crate) fn handshake(&mut self, input: &[u8]) -> Result<Option<usize>, Error> {
        let more = (BEGIN_BYTES - self.begun).min(input.len());
        self.begin[self.begun..self.begun + more].copy_from_slice(&input[..more]);
        self.begun += more;
        let mut rest = input;
        while self.tls.is_handshaking() && !rest.is_empty() {
            self.take_in(&mut rest)?;
        }
        Ok((!self.tls.is_handshaking()).then(|| input.len() - rest.len()))
    }

    /// Decrypts `input`. Calls `see` with every piece of plaintext, until `see` returns `false`. If a record is
    /// damaged, `see` gets the plaintext of the records before it, and then the error is returned.
    #[inline]
    pub(crate) fn feed(&mut self, input: &[u8], mut see: impl FnMut(&[u8]) -> bool) -> Result<(), Error> {
        let mut rest = input;
        loop {
            let taken = if rest.is_empty() { Ok(()) } else { self.take_in(&mut rest) };
            if !self.hand_over(&mut see) {
                return Ok(());
            }
            taken?;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    fn hand_over(&mut self, see: &mut impl FnMut(&[u8]) -> bool) -> bool {
        let mut reader = self.tls.reader();
        loop {
            let Ok(piece @ [_, ..]) = reader.fill_buf() else { return true };
            let (bytes, go_on) = (piece.len(), see(piece));
            reader.consume(bytes);
            if !go_on {
                return false;
            }
        }
    }

    fn take_in(&mut self, rest: &mut &[u8]) -> Result<(), Error> {
        match self.tls.read_tls(rest) {
            // After the server's `close_notify`, rustls processes nothing more.
            Ok(0) => *rest = &[],
            Ok(_) => {}
            Err(_) => return Err(Error::General("more than one record waits".into())),
        }
        self.peer_closed |= self.tls.process_new_packets()?.peer_has_closed();
        Ok(())
    }

    /// Returns whether there are bytes to send.
    #[inline]
    pub(crate) fn wants_write(&self) -> bool {
        self.tls.wants_write()
    }

    /// Sends as many of the waiting bytes as the kernel accepts.
    #[inline]
    pub(crate) fn flush(&mut self, put: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<usize> {
        let mut put = Put(put);
        let mut sent = 0;
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut put) {
                Ok(bytes) => sent += bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The caller gets the number of bytes that were sent before the error. The next call returns the error
                // again.
                Err(_) if sent > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Encrypts and sends as much of `bytes` as the kernel accepts. Returns `WouldBlock` if the kernel accepts nothing.
    #[inline]
    pub(crate) fn send(&mut self, bytes: &[u8], mut put: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<Wire> {
        let earlier = self.flush(&mut put)?;
        if self.tls.wants_write() {
            let wire = Wire { taken: 0, sent: earlier };
            return if earlier > 0 { Ok(wire) } else { Err(io::ErrorKind::WouldBlock.into()) };
        }
        let taken = self.tls.writer().write(bytes)?;
        Ok(Wire { taken, sent: earlier + self.flush(put)? })
    }

    /// Sends `close_notify`, which announces the end of the data, if the handshake is complete.
    pub(crate) fn close(&mut self) {
        if !self.tls.is_handshaking() {
            self.tls.send_close_notify();
        }
    }
}
