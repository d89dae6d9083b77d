//! The work of an agent in a fill of several hosts. The share of the fill, with its journal, stays on this host.

use super::kept::state_directory;
use super::policy::Policy;
use super::work::WorkerEvent;
use crate::command::fill::share::{self, ShareOfFill, ShareRecord};
use crate::command::load_command::LoadCommand;
use crate::failure::Failure;
use crate::hosts::plan_text::{self, FillLoad, PlanText};
use fleet::message::{Part, Terms};
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread;
use std::time::Instant;

/// Directory of the fills of this host, with a directory for each fill, and in it one for each share.
const DIRECTORY: &str = "fills";

/// Does the work of a fill.
pub fn work(
    text: &PlanText,
    load: &FillLoad,
    part: Part,
    policy: &Policy,
    start: &Receiver<(Instant, Terms)>,
    events: &SyncSender<WorkerEvent>,
) -> Result<(), Failure> {
    let command = LoadCommand::parse(text.words.iter().map(Into::into))?;
    policy.check_command(&command)?;
    let LoadCommand::Fill(mut args) = command else { return Err(plan_text::malformed()) };
    let shares = state_directory()?.join(DIRECTORY).join(share::name(&args));
    let send = |record: ShareRecord| {
        // Sending fails only if the session with the coordinator is over.
        let _ = events.send(match serde_json::to_string(&record) {
            Ok(record) => WorkerEvent::Record { record, has_started: true },
            Err(error) => WorkerEvent::Failed(error.to_string()),
        });
    };
    match load {
        FillLoad::Survey => {
            let held = share::held(&shares)?;
            if is_started(start, events) {
                send(ShareRecord::Held(held));
            }
            Ok(())
        }
        FillLoad::Session { step, shares: numbers } => {
            let number = *numbers.get(part.index as usize).ok_or_else(plan_text::malformed)?;
            let own = engine::plan::Part::new(number, part.of).ok_or_else(plan_text::malformed)?;
            if args.put.common.fleet.pair {
                plan_text::pair(&mut args.put.urls, number as usize, part.of as usize)?;
            }
            let fill = ShareOfFill::open(*args, own, &shares, |plan| policy.check_plan(plan))?;
            if is_started(start, events) { fill.carry_out(*step, &send) } else { fill.cancel() }
        }
    }
}

/// Reports that the work is prepared, and waits for its start. Returns `false` if it must not start.
fn is_started(start: &Receiver<(Instant, Terms)>, events: &SyncSender<WorkerEvent>) -> bool {
    let _ = events.send(WorkerEvent::Prepared);
    let Ok((at, _)) = start.recv() else { return false };
    thread::sleep(at.saturating_duration_since(Instant::now()));
    events.send(WorkerEvent::Started(Instant::now())).is_ok()
}
