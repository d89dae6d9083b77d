//! Operations of several requests: what follows a good answer.

use super::RunLoop;
use super::op::Body;
use crate::network::Network;
use crate::plan::Then;
use measure::{AttemptClass, AttemptOutcome, Cause, Phase};
use wire::s3::ListResult;

impl<N: Network> RunLoop<'_, N> {
    /// Whether another request of the slot's operation follows the attempt that has just ended so.
    ///
    /// # Errors
    /// How the operation ends when the answer does not say what must follow.
    pub(super) fn next_step(&mut self, slot: u32, outcome: AttemptOutcome) -> Result<bool, AttemptOutcome> {
        let Some(op) = &mut self.slots[slot as usize].op else { return Ok(false) };
        let Then::Pages { most } = self.plan.mix.requests()[op.request].then else { return Ok(false) };
        let Body::Kept(message) = &op.body else { return Ok(false) };
        if outcome != AttemptOutcome::OK {
            return Ok(false);
        }
        let page = ListResult::parse(message)
            .map_err(|_| AttemptOutcome::failed(AttemptClass::Protocol, Cause::BadMessage, Phase::Body))?;
        op.pages.read += 1;
        let Some(next) = page.next.filter(|_| op.pages.read < most) else { return Ok(false) };
        op.pages.body_bytes += message.len() as u64;
        op.pages.next = Some(format!("continuation-token={}", wire::percent::parameter(&next)).into());
        Ok(true)
    }
}
