//! The owners of objects in a cluster whose servers redirect requests.
//!
//! The first byte of each object is requested from one server, the entry. If the entry sends the byte, the entry is the
//! object's owner. If the entry redirects the request, the target of the redirect is the owner. Redirects are not
//! followed, because the owner would then load an object that nobody needs. An ordinary run makes the requests, as in
//! [`crate::object_sizes`].

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
    /// The owner is not known, because the run ended before this object was requested.
    Unknown,
    /// The entry itself.
    Entry,
    /// Another server. The number is the index of the object's URL at that server, in [`Owners::redirected`].
    Redirected(u32),
    /// No owner was found, because the response was neither the object nor a redirect.
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
    /// URLs of the redirected objects at their owners.
    pub redirected: Targets,
    /// Reason for the early end of the run; `None` if the run did not end early.
    pub reason: Option<StopReason>,
}

struct OwnerSearch<'a> {
    plan: &'a Plan,
    found: Owners,
    responses: u64,
    tick: &'a mut dyn FnMut(u64, &Control, Instant),
}

/// Finds the owner of every object of a plan. `tick` is called about every 50 ms with the number of responses so far.
///
/// # Errors
/// Fails if no request could be sent at all.
pub fn find_owners(
    plan: &Plan,
    concurrency: NonZeroU64,
    tick: &mut dyn FnMut(u64, &Control, Instant),
) -> Result<Owners, RunError> {
    let items: Vec<usize> = (0..plan.targets.items().len()).collect();
    let headers = plan.mix.requests().first().map(|request| request.headers.clone()).unwrap_or_default();
    let range = ByteRange::new(0, 0).map(RangeChoice::Fixed);
    let request = RequestPlan { headers, range, ..RequestPlan::new("GET", OpKind::GetRange) };
    let first_bytes = Plan { follow: Follow::Never, ..once_each(plan, request, &items, concurrency) };
    let control = Control::new(None);
    let found = Owners { owners: vec![Owner::Unknown; items.len()], redirected: Targets::default(), reason: None };
    let mut search = OwnerSearch { plan, found, responses: 0, tick };
    run(&first_bytes, &control, &mut search)?;
    Ok(Owners { reason: control.reason(), ..search.found })
}

impl Observer for OwnerSearch<'_> {
    fn interval(&mut self, _: &Interval, _: &Control, _: Instant) {}

    fn ops(&mut self, ops: &[OpEntry]) {
        for op in ops.iter().filter(|op| op.outcome.class != AttemptClass::InflightAtEnd) {
            self.responses += 1;
            let owner = self.owner(op).unwrap_or_else(|outcome| Owner::Lost { status: op.status, outcome });
            if let Subject::Target(index) = op.subject
                && let Some(place) = self.found.owners.get_mut(index as usize)
            {
                *place = owner;
            }
        }
    }

    fn tick(&mut self, control: &Control, now: Instant) {
        (self.tick)(self.responses, control, now);
    }
}

impl OwnerSearch<'_> {
    fn owner(&mut self, op: &OpEntry) -> Result<Owner, AttemptOutcome> {
        match op.outcome.cause {
            // With one of these causes, the range request failed, but the entry still owns the object. An empty object
            // has no first byte, and some servers ignore ranges.
            Cause::None | Cause::RangeBeyondEnd | Cause::RangeIgnored | Cause::RangeBy200 => Ok(Owner::Entry),
            Cause::NotFollowed => self.named(op),
            _ => Err(op.outcome),
        }
    }

    fn named(&mut self, op: &OpEntry) -> Result<Owner, AttemptOutcome> {
        let refused = |class, cause| AttemptOutcome::failed(class, cause, Phase::Head);
        let requested = match op.subject {
            Subject::Target(index) => self.plan.targets.listed(index as usize),
            Subject::Fresh(_) | Subject::Container => None,
        };
        let requested = requested.ok_or(refused(AttemptClass::Redirect, Cause::BadLocation))?;
        let url = crate::run_loop::redirected_to(&requested, &op.location)?;
        if leaves_tls(&requested, &url)
            && !matches!(self.plan.follow, Follow::UpTo(_, rules) if rules.downgrade == RedirectRule::Allow)
        {
            return Err(refused(AttemptClass::RedirectDenied, Cause::Downgrade));
        }
        if url.origin() == requested.origin() && url.path() == requested.path() {
            return Err(refused(AttemptClass::Redirect, Cause::RedirectLoop));
        }
        self.add(&url).ok_or(refused(AttemptClass::Redirect, Cause::TooManyOrigins))
    }

    fn add(&mut self, url: &Url) -> Option<Owner> {
        let index = self.found.redirected.items().len() as u32;
        self.found.redirected.push(url).then_some(Owner::Redirected(index))
    }
}
