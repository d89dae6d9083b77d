//! Input: reads and parses bytes from the client until a request is complete.

use std::io::{self, ErrorKind};
use std::mem;
use std::time::Duration;

use wire::message::Reading;
use wire::{Event, Framing};

use super::{Connection, Next, PENDING_MAX};
use crate::lean_front::context::ThreadContext;
use crate::lean_front::head::CONTINUE;

/// If more body bytes than this remain, the kernel discards them. Otherwise, this process reads them.
const DISCARD_MIN: u64 = 8 * 1024;
/// Maximum number of bytes that the kernel discards in one call.
const DISCARD_MAX: u64 = 1 << 30;
/// Maximum number of consecutive reads from one connection. After that, the other connections get their turn.
const READS_MAX: usize = 16;

impl Connection {
    pub(super) fn read(&mut self, context: &mut ThreadContext) -> Next {
        for _ in 0..READS_MAX {
            let opaque = self.reader.opaque_bytes();
            let discards = opaque > DISCARD_MIN && self.socket.is_tcp();
            let (wanted, got) = if discards {
                let wanted = opaque.min(DISCARD_MAX) as usize;
                (wanted, self.socket.discard(wanted))
            } else {
                (context.buffer.len(), self.socket.recv(&mut context.buffer))
            };
            let bytes = match got {
                Ok(0) => return Next::Close,
                Ok(bytes) => bytes,
                Err(error) => return if would_block(&error) { Next::Read } else { Next::Close },
            };
            context.counters.received_bytes.add(bytes as u64);
            self.active = context.now;
            let next = if discards {
                self.reader.skip(bytes as u64);
                self.parse(&[], context)
            } else {
                let buffer = mem::take(&mut context.buffer);
                let next = self.parse(&buffer[..bytes], context);
                context.buffer = buffer;
                next
            };
            // A read that returns fewer bytes than requested has emptied the socket.
            if bytes < wanted || next != Next::Read {
                return next;
            }
        }
        Next::Read
    }

    /// Buffers the bytes that the client sends while a response is being prepared or sent.
    pub(super) fn buffer_input(&mut self, context: &mut ThreadContext) -> Next {
        let room = (PENDING_MAX - self.pending.len()).min(context.buffer.len());
        match self.socket.recv(&mut context.buffer[..room]) {
            Ok(0) => self.ended = true,
            Ok(bytes) => {
                context.counters.received_bytes.add(bytes as u64);
                self.pending.extend_from_slice(&context.buffer[..bytes]);
            }
            Err(error) if would_block(&error) => {}
            Err(_) => return Next::Close,
        }
        Next::Same
    }

    /// Drops the bytes that the client sends after the last response.
    pub(super) fn drop_input(&mut self, context: &mut ThreadContext) -> Next {
        match self.socket.recv(&mut context.buffer) {
            Ok(0) => Next::Close,
            Ok(bytes) => {
                context.counters.received_bytes.add(bytes as u64);
                Next::Same
            }
            Err(error) if would_block(&error) => Next::Same,
            Err(_) => Next::Close,
        }
    }

    /// Processes the input that was buffered during the last response.
    pub(super) fn read_pending(&mut self, context: &mut ThreadContext) -> Next {
        let pending = mem::take(&mut self.pending);
        let next = self.parse(&pending, context);
        if next == Next::Read && self.ended { Next::Close } else { next }
    }

    /// Parses requests from `input` and responds to them, until no complete request is left or a response has to wait.
    fn parse(&mut self, input: &[u8], context: &mut ThreadContext) -> Next {
        let mut at = 0;
        loop {
            let (fields, keep_all) = (&mut self.fields, context.shared.stand_in.needs_all_fields());
            let read = self.reader.read(&input[at..], &mut |name, value| fields.note(keep_all, name, value));
            let responded = match read {
                Err(bad) => self.reject(bad, context),
                Ok(progress) => {
                    let from = at;
                    at += progress.consumed;
                    match progress.event {
                        Event::NeedMore => {
                            self.note_head_time(context.now);
                            return Next::Read;
                        }
                        Event::Head => {
                            if self.begin_request(context).is_err() {
                                return Next::Close;
                            }
                            continue;
                        }
                        Event::Body(range) => {
                            self.fields.note_body(context.shared.stand_in.request_body_max(), &input[from..][range]);
                            continue;
                        }
                        Event::End => self.respond(context),
                    }
                }
            };
            if let Some(next) = responded {
                if next != Next::Close {
                    self.pending.extend_from_slice(&input[at..]);
                }
                return next;
            }
            if at == input.len() {
                return Next::Read;
            }
        }
    }

    /// Records when an incomplete head began, because the time for reading a head is limited.
    fn note_head_time(&mut self, now: Duration) {
        let in_head = self.reader.phase() == Reading::Head && self.reader.head_bytes() > 0;
        self.head_began = if in_head { Some(self.head_began.unwrap_or(now)) } else { None };
    }

    /// Counts a request after its head was read. Sends `100 Continue` if the request expects it.
    fn begin_request(&mut self, context: &mut ThreadContext) -> io::Result<()> {
        self.head_began = None;
        self.interim = 0;
        self.requests += 1;
        context.shared.faults.note_request_read(context.now);
        let Some(head) = self.reader.head() else {
            debug_assert!(false, "the reader reported a head but has none");
            return Err(ErrorKind::InvalidData.into());
        };
        context.counters.count_request(&head.method);
        if head.expect_continue && !matches!(head.framing, Framing::None | Framing::Length(0)) {
            let taken = self.socket.send(CONTINUE)?;
            self.interim = taken as u64;
            if taken < CONTINUE.len() {
                // The send buffer has space for these few bytes, unless the client does not read its responses.
                return Err(ErrorKind::WouldBlock.into());
            }
        }
        Ok(())
    }
}

fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
