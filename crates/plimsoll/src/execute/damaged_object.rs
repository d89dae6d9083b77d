//! Records of damaged objects.

use crate::redact;
use engine::OpEntry;
use engine::plan::Targets;
use measure::{AttemptClass, Cause};
use store::DamagedObject;

/// Returns the damage that an operation found, or `None` if the object is not damaged. A missing checksum is not
/// damage.
pub fn found_by(op: &OpEntry, targets: &Targets) -> Option<DamagedObject> {
    if op.outcome.class != AttemptClass::Integrity || op.outcome.cause == Cause::NoHash {
        return None;
    }
    let of_dataset = targets.area().and_then(|area| area.key_in_bucket(op.subject, &mut String::new()));
    let object = of_dataset.map_or_else(|| redact::url_text(&targets.url(op.subject)), String::from);
    Some(DamagedObject { object, offset: op.differs_at, cause: op.outcome.cause, status: op.status })
}
