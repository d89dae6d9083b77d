//! The owners of objects in a cluster that redirects.
//!
//! The first byte of each object is requested from one server, the entry. If the entry sends it, the entry is the object's
//! owner. If the entry redirects, the target of the redirect is the owner. Redirects are not followed, so that no owner loads
//! an object that nobody reads. The requests are made by a run of the usual run loop, like those of [`crate::object_sizes`].

use crate::control::{Control, StopReason};
use crate::object_sizes::once_each;
use crate::plan::{Follow, Plan, RangeChoice, RedirectRule, RequestPlan, Subject, Targets};
use crate::run::{Observer, RunError, run};
use crate::run_loop::OpEntry;
use crate::run_loop::leaves_tls;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Interval, OpKind, Phase};
use std::num::NonZeroU64;
use wire::range::ByteRange;
use wire::url::Url;

/// The owner of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Not known: the run ended before.
    Unasked,
    /// The entry.
    Entry,
    /// Another server: that item of [`Owners::elsewhere`].
    Elsewhere(u32),
    /// No owner: the response was neither the object nor a redirect.
    Lost {
        /// Status of the response.
        status: Option<u16>,
        /// Outcome of the request.
        outcome: AttemptOutcome,
    },
}

/// The owners of a list of objects.
#[derive(Clone, Debug)]
pub struct Owners {
    /// The owner of each object, in the order of the list.
    pub owners: Vec<Owner>,
    /// The URLs of the objects at the servers that the entry redirects to.
    pub elsewhere: Targets,
    /// Why the run ended early, if it did.
    pub reason: Option<StopReason>,
}

struct Asking<'a> {
    plan: &'a Plan,
    found: Owners,
    seen: u64,
    tick: &'a mut dyn FnMut(u64, &Control, Instant),
}

/// Finds the owner of every object of a plan. `tick` is called about every 50 ms with the number of responses so far.
///
/// # Errors
/// When no request could be sent at all.
pub fn find_owners(
    plan: &Plan,
    concurrency: NonZeroU64,
    tick: &mut dyn FnMut(u64, &Control, Instant),
) -> Result<Owners, RunError> {
    let items: Vec<usize> = (0..plan.targets.items().len()).collect();
    let headers = plan.mix.requests().first().map(|request| request.headers.clone()).unwrap_or_default();
    let range = ByteRange::new(0, 0).map(RangeChoice::Fixed);
    let request = RequestPlan { headers, range, ..RequestPlan::new("GET", OpKind::GetRange) };
    let asked = Plan { follow: Follow::Never, ..once_each(plan, request, &items, concurrency) };
    let control = Control::new(None);
    let found = Owners { owners: vec![Owner::Unasked; items.len()], elsewhere: Targets::default(), reason: None };
    let mut asking = Asking { plan, found, seen: 0, tick };
    run(&asked, &control, &mut asking)?;
    Ok(Owners { reason: control.reason(), ..asking.found })
}

impl Observer for Asking<'_> {
    fn interval(&mut self, _: &Interval, _: &Control, _: Instant) {}

    fn ops(&mut self, ops: &[OpEntry]) {
        for op in ops.iter().filter(|op| op.outcome.class != AttemptClass::InflightAtEnd) {
            self.seen += 1;
            let owner = self.owner(op).unwrap_or_else(|outcome| Owner::Lost { status: op.status, outcome });
            if let Subject::Target(index) = op.subject
                && let Some(place) = self.found.owners.get_mut(index as usize)
            {
                *place = owner;
            }
        }
    }

    fn tick(&mut self, control: &Control, now: Instant) {
        (self.tick)(self.seen, control, now);
    }
}

impl Asking<'_> {
    fn owner(&mut self, op: &OpEntry) -> Result<Owner, AttemptOutcome> {
        match op.outcome.cause {
            // These are not failures here: an empty object has no first byte, and a server that ignores ranges still has the
            // object.
            Cause::None | Cause::RangeBeyondEnd | Cause::RangeIgnored | Cause::RangeBy200 => Ok(Owner::Entry),
            Cause::NotFollowed => self.named(op),
            _ => Err(op.outcome),
        }
    }

    fn named(&mut self, op: &OpEntry) -> Result<Owner, AttemptOutcome> {
        let refused = |class, cause| AttemptOutcome::failed(class, cause, Phase::Head);
        let asked = match op.subject {
            Subject::Target(index) => self.plan.targets.listed(index as usize),
            Subject::Fresh(_) | Subject::Container => None,
        };
        let asked = asked.ok_or(refused(AttemptClass::Redirect, Cause::BadLocation))?;
        let url = crate::run_loop::redirected_to(&asked, &op.location)?;
        if leaves_tls(&asked, &url)
            && !matches!(self.plan.follow, Follow::UpTo(_, traps) if traps.downgrade == RedirectRule::Allow)
        {
            return Err(refused(AttemptClass::RedirectDenied, Cause::Downgrade));
        }
        if url.origin() == asked.origin() && url.path() == asked.path() {
            return Err(refused(AttemptClass::Redirect, Cause::RedirectLoop));
        }
        self.add(&url).ok_or(refused(AttemptClass::Redirect, Cause::TooManyOrigins))
    }

    fn add(&mut self, url: &Url) -> Option<Owner> {
        let index = self.found.elsewhere.items().len() as u32;
        self.found.elsewhere.push(url).then_some(Owner::Elsewhere(index))
    }
}
