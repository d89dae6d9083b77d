//! Objects in doubt after an interruption. According to the journal, they were reserved but not confirmed, so the
//! target is asked about each of them.

use super::Args;
use super::objects::Objects;
use super::renter::{Renter, SiadFiles};
use super::session::{Session, cannot_write};
use crate::console;
use crate::execute;
use crate::failure::Failure;
use crate::load::each_object::{ObjectRequests, Pass, Search};
use crate::load::location_client::{LocationClient, Upload};
use crate::progress::requests_failed;
use engine::dialect::Access;
use engine::plan::{ResumedUpload, Subject};
use fill::in_doubt::{Decision, Next, OpenUpload, Stored, StoredPart, decide};
use report::number::{count, plural};
use std::collections::{BTreeMap, BTreeSet};
use store::journal::{AckedObject, BATCH_MAX, Evidence, Record};
use wire::s3::ListedPart;

/// The remaining uploads of objects that earlier sessions reserved.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Numbers of the objects to upload.
    pub chosen: Vec<u64>,
    /// Multipart uploads to continue, by object number.
    pub uploads: BTreeMap<u64, ResumedUpload>,
}

/// Asks the target about all objects in doubt. An object that the target has counts as stored.
pub fn recover(
    args: &Args,
    objects: &Objects,
    (client, renter): (&LocationClient<'_>, Option<&Renter>),
    session: &mut Session,
) -> Result<Recovered, Failure> {
    let in_doubt: Vec<u64> = session.state.in_doubt().collect();
    if in_doubt.is_empty() {
        return Ok(Recovered::default());
    }
    let missing = match SiadFiles::of(renter)? {
        Some(files) => files.incomplete(objects, &in_doubt)?,
        None => missing(args, objects, client, &in_doubt)?,
    };
    let missing: BTreeSet<u64> = missing.into_iter().collect();
    let mut open = open_uploads(objects, client, session, &in_doubt)?;
    let (mut found, mut recovered, mut useless) = (Vec::new(), Recovered::default(), Vec::new());
    for number in in_doubt {
        let stored = match missing.contains(&number) {
            true => Stored::Missing,
            false => Stored::Found { size: Some(objects.size(number)), checksum: Some(true) },
        };
        let Decision { next, abort } = decide(objects.shape(number), stored, open.remove(&number).unwrap_or_default());
        useless.extend(abort.into_iter().map(|id| (number, id)));
        match next {
            Next::Recovered => found.push(number),
            Next::Restart => recovered.chosen.push(number),
            Next::Resume(upload) => {
                recovered.chosen.push(number);
                recovered.uploads.insert(number, resumed(upload));
            }
        }
    }
    note_found(objects, session, &found)?;
    abort_uploads(objects, client, session, &useless)?;
    report(&found, &recovered);
    Ok(recovered)
}

/// Returns the numbers of the objects that the target does not have, or that have other bytes there. Reads the objects
/// back, because an object from an earlier fill with another seed may have the same size.
fn missing(args: &Args, objects: &Objects, client: &LocationClient<'_>, numbers: &[u64]) -> Result<Vec<u64>, Failure> {
    let pass = Pass {
        request: objects.reading_back(args)?,
        doing: "checking objects of unfinished uploads",
        done: "are checked, and nothing is uploaded; the same command checks them again",
        // If reading is not permitted, upload the objects again. This does no harm, because the bytes are the same.
        search: Search::Lenient,
    };
    let targets = |numbers: &[u64]| objects.chosen(Access::Read, numbers);
    ObjectRequests::new(&args.put.common, client.plan(), &targets, args.retry_limit()).for_chosen(&pass, numbers)
}

/// Returns the open multipart uploads of the objects in doubt, with their parts.
fn open_uploads(
    objects: &Objects,
    client: &LocationClient<'_>,
    session: &Session,
    in_doubt: &[u64],
) -> Result<BTreeMap<u64, Vec<OpenUpload>>, Failure> {
    let mut open: BTreeMap<u64, Vec<OpenUpload>> = BTreeMap::new();
    if objects.multipart().is_none() {
        return Ok(open);
    }
    let in_doubt: BTreeSet<u64> = in_doubt.iter().copied().collect();
    for (number, upload) in listed(objects, client, session)? {
        if !in_doubt.contains(&number) {
            continue;
        }
        if let Some(parts) = parts(client, &upload)? {
            open.entry(number).or_default().push(open_upload(objects, number, upload.id, parts));
        }
        if sys::signals::interrupts().count > 0 {
            return Err(requests_failed("interrupted before any upload; run the same command again"));
        }
    }
    Ok(open)
}

/// Parts of an upload, or `None` if they cannot be listed.
type Parts = Option<Vec<ListedPart>>;

/// Returns the parts of an upload. Returns `None` if the server does not know the upload, and `Some(None)` if its parts
/// cannot be listed.
fn parts(client: &LocationClient<'_>, upload: &Upload) -> Result<Option<Parts>, Failure> {
    match client.parts(upload) {
        Err(Failure::Message(_, why)) if sys::signals::interrupts().count == 0 => {
            console::eprintln(&format!("{why}; the parts of this upload are sent again"));
            Ok(Some(None))
        }
        listed => listed.map(|parts| parts.map(Some)),
    }
}

/// Returns an open upload, with only those parts that the target has completely.
fn open_upload(objects: &Objects, number: u64, id: Box<str>, parts: Parts) -> OpenUpload {
    let sizes = |parts: &Vec<ListedPart>| parts.iter().map(|part| (u32::from(part.number), part.size)).collect();
    let may_be_complete = parts.as_ref().is_none_or(|parts| objects.shape(number).is_covered_by(&sizes(parts)));
    let is_whole = |part: &ListedPart| objects.part_is_whole(number, part);
    let part = |part: ListedPart| StoredPart { number: u32::from(part.number), size: part.size, etag: part.etag };
    let parts = parts.unwrap_or_default().into_iter().filter(is_whole).map(part).collect();
    OpenUpload { id, parts, may_be_complete }
}

/// Returns the open multipart uploads of this fill's objects, as the target lists them. If the target cannot list
/// uploads, returns the open uploads in the journal.
pub fn listed(
    objects: &Objects,
    client: &LocationClient<'_>,
    session: &Session,
) -> Result<Vec<(u64, Upload)>, Failure> {
    let own = |upload: Upload| Some((objects.number_of_key(&upload.key)?, upload));
    match client.open_uploads() {
        Ok(open) => Ok(open.into_iter().filter_map(own).collect()),
        Err(gone @ Failure::TargetGone(_)) => Err(gone),
        Err(failure) => {
            let why = failure.into_message();
            console::eprintln(&format!("cannot list open multipart uploads ({why}); using the uploads in the journal"));
            let upload = |(number, id): (u64, &str)| {
                let mut key = String::new();
                objects.set.read(number, &mut key)?;
                Some((number, Upload { key: format!("{}{key}", objects.location.prefix).into(), id: id.into() }))
            };
            Ok(session.state.uploads.iter().filter_map(upload).collect())
        }
    }
}

/// Writes to the journal that the target has these objects.
fn note_found(objects: &Objects, session: &mut Session, found: &[u64]) -> Result<(), Failure> {
    let acked = |number: &u64| AckedObject {
        number: *number,
        attempts: 0,
        sent_bytes: 0,
        file_bytes: objects.size(*number),
        evidence: Evidence::FoundOnResume,
    };
    for batch in found.chunks(BATCH_MAX) {
        let noted = session.note(&Record::Acked(batch.iter().map(acked).collect())).and_then(|()| session.sync());
        noted.map_err(|error| cannot_write(&error))?;
    }
    Ok(())
}

/// Aborts uploads, and writes to the journal that they are gone. Returns the number of uploads that are left.
pub fn abort_uploads(
    objects: &Objects,
    client: &LocationClient<'_>,
    session: &mut Session,
    uploads: &[(u64, Box<str>)],
) -> Result<u64, Failure> {
    if uploads.is_empty() {
        return Ok(0);
    }
    let path = |number: u64| {
        let mut path = String::new();
        objects.chosen(Access::Write, &[number]).write_path(Subject::Target(0), &mut String::new(), &mut path);
        path
    };
    let open = uploads.iter().map(|(number, id)| (0, path(*number), &**id)).collect();
    let left = execute::abort_all(&objects.upload, open).into_iter().map(|(_, _, id)| id).collect();
    let left = still_open(client, left);
    for (number, upload_id) in uploads.iter().filter(|(_, id)| !left.contains(&**id)) {
        let gone = Record::UploadGone { number: *number, upload_id: upload_id.to_string() };
        session.note(&gone).map_err(|error| cannot_write(&error))?;
    }
    session.sync().map_err(|error| cannot_write(&error))?;
    Ok(left.len() as u64)
}

/// Returns the uploads that the target still lists. The others need not be aborted, and renterd responds with an error
/// to a request to abort an upload that it does not know. If the target cannot list uploads, returns all of them.
fn still_open<'u>(client: &LocationClient<'_>, mut uploads: BTreeSet<&'u str>) -> BTreeSet<&'u str> {
    if !uploads.is_empty()
        && let Ok(open) = client.open_uploads()
    {
        let listed: BTreeSet<&str> = open.iter().map(|upload| &*upload.id).collect();
        uploads.retain(|id| listed.contains(id));
    }
    uploads
}

fn resumed(upload: OpenUpload) -> ResumedUpload {
    // Part numbers are at most 10,000.
    let part = |part: StoredPart| Some((u16::try_from(part.number).ok()?, part.etag));
    let OpenUpload { id: upload_id, parts, may_be_complete } = upload;
    ResumedUpload { upload_id, parts: parts.into_iter().filter_map(part).collect(), may_be_complete }
}

/// Prints the numbers of stored and remaining objects.
fn report(found: &[u64], recovered: &Recovered) {
    let Recovered { chosen, uploads } = recovered;
    let parts: u64 = uploads.values().map(|upload| upload.parts.len() as u64).sum();
    let resumed = match uploads.len() as u64 {
        0 => String::new(),
        number => format!(", {} resumed with {}", plural(number, "multipart upload"), plural(parts, "part")),
    };
    console::eprintln(&format!(
        "objects with unconfirmed uploads: {} found at the target, {} to upload{resumed}",
        count(found.len() as u64),
        count(chosen.len() as u64),
    ));
}
