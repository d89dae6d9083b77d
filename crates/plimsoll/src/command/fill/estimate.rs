//! The estimate of a fill for a dry run: bytes, time and costs.

use super::Args;
use super::budget::{Budget, planned};
use super::objects::Objects;
use crate::failure::Failure;
use cost::bill::Offer;
use fill::stop_rule::StopRule;
use std::time::Duration;

/// The estimate of a fill.
pub struct Estimate {
    /// Maximum number of bytes of all objects that are uploaded.
    pub upload_bytes: u64,
    /// Time after which a stop rule ends the uploads; `None` if no stop rule limits the time.
    pub upload_time: Option<Duration>,
    /// `true` if every object is read back.
    pub reads_back: bool,
    /// Costs of uploading and keeping all objects, by each price sheet.
    pub offers: Vec<Offer>,
}

/// Returns the estimate of a fill that has not started. Sends no request.
pub fn estimate(args: &Args) -> Result<Estimate, Failure> {
    let (objects, budget) = (Objects::of(args, None)?, Budget::of(args)?);
    let rules = || args.stop_when.iter();
    let bytes = rules().filter_map(|rule| if let StopRule::Bytes(bytes) = rule { Some(bytes.0) } else { None });
    let time = rules().filter_map(|rule| if let StopRule::Time(time) = rule { Some(*time) } else { None });
    Ok(Estimate {
        upload_bytes: bytes.chain([objects.bytes()]).min().unwrap_or(0),
        upload_time: time.min(),
        reads_back: args.verify,
        offers: budget.costs().of(&planned(&objects)),
    })
}
