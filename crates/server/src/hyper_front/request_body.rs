//! The body of a request, counted while it is read.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use crate::ledger::counters::Counters;

/// The error for a request that broke off before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// The body of a request, counted while it is read.
pub(crate) struct RequestBody {
    incoming: Incoming,
    counters: Arc<Counters>,
    received: Arc<AtomicU64>,
}

impl RequestBody {
    pub(super) fn new(incoming: Incoming, counters: Arc<Counters>, received: Arc<AtomicU64>) -> Self {
        Self { incoming, counters, received }
    }

    /// Reads the body to its end, passes each piece to `look`, and returns the number of bytes.
    pub(crate) async fn read(mut self, mut look: impl FnMut(&[u8])) -> Result<u64, Broken> {
        let mut bytes = 0;
        while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut self).poll_frame(cx)).await {
            if let Some(piece) = frame.map_err(|_| Broken)?.data_ref() {
                look(piece);
                bytes += piece.len() as u64;
            }
        }
        Ok(bytes)
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let frame = ready!(Pin::new(&mut self.incoming).poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
            self.counters.request_body_bytes.add(bytes);
            self.received.fetch_add(bytes, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
