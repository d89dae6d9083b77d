//! The objects of a fill: their location at the target, and the plan of their upload.

use super::Args;
use super::tree::{self, SourceDirectory};
use crate::command::put::{self, background};
use crate::execute;
use crate::failure::Failure;
use crate::load::dataset_location::DatasetLocation;
use crate::load::{dialect, location_client};
use content::Content;
use engine::dialect::{Access, Form};
use engine::plan::{
    Members, Multipart, ObjectSet, Part, Plan, RequestPlan, ResponseBody, RetryPolicy, StopAfter, Targets, Then,
};
use fill::in_doubt::Shape;
use measure::OpKind;
use measure::units::ByteSize;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::StoreError;
use store::fill_directory::{FORMAT, Identity, Reservation, Share};
use wire::checksum::{Algorithm, Hasher};
use wire::s3::ListedPart;

/// Size of the pieces in which the bytes of a part are generated for a check.
const PIECE_BYTES: usize = 64 << 10;

/// Fills a buffer with the bytes of an object, starting at an offset.
type ReadAt<'a> = dyn FnMut(u64, &mut [u8]) -> io::Result<()> + 'a;

/// The objects of a fill, and the plan that uploads all of them.
pub struct Objects {
    /// The location to which the objects are uploaded.
    pub location: DatasetLocation,
    /// The locations for reading and deleting objects; `None` if the flags name no system.
    system: Option<SystemLocations>,
    /// Names and sizes of the objects.
    pub set: ObjectSet,
    /// The directory of the files, if the objects are local files.
    pub source: Option<SourceDirectory>,
    /// Description of the set, for the identity of the fill.
    about: serde_json::Value,
    /// The plan that uploads all objects once, with retries.
    pub upload: Plan,
}

/// The locations of the objects at a system that has a path for each kind of access.
struct SystemLocations {
    read: (DatasetLocation, Form),
    /// `None` if the fill does not delete objects.
    delete: Option<(DatasetLocation, Form)>,
}

impl SystemLocations {
    /// Returns the locations that the flags describe, or `None` if the flags name no system.
    fn of(args: &Args) -> Result<Option<Self>, Failure> {
        let located = |access| put::location_in_system(&args.put, access);
        let Some(read) = located(Access::Read)? else { return Ok(None) };
        Ok(Some(Self { read, delete: if args.delete { located(Access::Delete)? } else { None } }))
    }
}

impl Objects {
    /// Returns the objects that the flags describe. Sends no request. `fill` is the directory of the fill, if it may
    /// exist. An existing fill of files uploads only the files that it listed when it started.
    pub fn of(args: &Args, fill: Option<&Path>) -> Result<Self, Failure> {
        Self::of_part(args, fill, Part::WHOLE)
    }

    /// Like [`Self::of`], but returns only the part of the objects that one of several hosts uploads. This host also has
    /// only its part of the uploads in flight.
    pub fn of_part(args: &Args, fill: Option<&Path>, part: Part) -> Result<Self, Failure> {
        let (location, form) = put::location(&args.put)?;
        let system = SystemLocations::of(args)?;
        let source = args.put.from.as_deref().map(SourceDirectory::of).transpose()?;
        let set = match &args.put.from {
            Some(root) => {
                let copies = args.copies.unwrap_or(NonZeroU64::MIN);
                ObjectSet::Files(Arc::new(tree::find(&background::source(&args.put, root)?, copies, fill)?))
            }
            None => put::object_set(&args.put)?,
        };
        let set = if part == Part::WHOLE { set } else { part_of(&set, part)? };
        if set.count() >= store::journal::OBJECTS_MAX {
            return Err(Failure::usage(format!("a fill has at most {} objects", store::journal::OBJECTS_MAX - 1)));
        }
        let plan = put::plan_at(&args.put, (&location, form), set.clone())?;
        // The set has only the objects of this part, so split only the uploads in flight. Each phase sets its own end.
        let load = plan.load.split(part).map_err(Failure::usage)?;
        let (stop, retry) = (StopAfter::default(), Some(RetryPolicy::default()));
        let upload = Plan { load, stop, retry, log_ops: true, ..plan };
        let about = match &set {
            ObjectSet::Dataset(dataset, _) => {
                serde_json::to_value(dataset.description()).map_err(Failure::could_not_run)?
            }
            ObjectSet::Files(files) => serde_json::json!({
                "files": files.files().len(),
                "directory": source.as_ref().map(|source| source.path().to_string_lossy()),
            }),
        };
        Ok(Self { location, system, set, source, about, upload })
    }

    /// Prepares the host and the plan for uploads. Looks up addresses, opens sessions, and checks the limit of file
    /// descriptors.
    pub fn prepare(&mut self) -> Result<(), Failure> {
        execute::prepare(&mut self.upload)
    }

    /// Returns the location for this kind of access, and the form of the requests if the flags name a system.
    fn at(&self, access: Access) -> (&DatasetLocation, Option<Form>) {
        let system = self.system.as_ref().and_then(|system| match access {
            Access::Read => Some(&system.read),
            Access::Delete => system.delete.as_ref(),
            Access::Write | Access::List => None,
        });
        system.map_or((&self.location, None), |(location, form)| (location, Some(*form)))
    }

    /// Returns the objects with these numbers as targets for this kind of access.
    pub fn chosen(&self, access: Access, numbers: &[u64]) -> Targets {
        self.at(access).0.chosen(self.set.clone(), numbers)
    }

    /// Returns the request that reads or deletes an object. If the flags name no system, the request has the given
    /// `method`.
    pub fn request(&self, args: &Args, access: Access, (method, kind): (&str, OpKind)) -> Result<RequestPlan, Failure> {
        let (location, form) = self.at(access);
        let (method, headers) = form.map_or((method, [].as_slice()), |form| (form.method, form.headers));
        let request = location_client::request(&args.put.common, location, method, kind)?;
        let mut request = RequestPlan { query: location.query.clone(), ..request };
        dialect::add_headers(headers, &mut request.headers)?;
        Ok(request)
    }

    /// Returns the remaining objects as targets: first the objects with the chosen numbers, then all objects from
    /// number `from`.
    pub fn rest(&self, chosen: Vec<u64>, from: u64) -> Targets {
        self.location.members(self.set.clone(), Members::Rest { chosen: chosen.into(), from })
    }

    /// Returns the size of an object in bytes.
    pub fn size(&self, number: u64) -> u64 {
        self.set.size(number).unwrap_or(0)
    }

    /// Returns the name of an object at siad, or `None` for another target.
    pub fn siapath(&self, number: u64) -> Option<String> {
        let folder = sia::siad::siapath_of_upload(&self.location.container)?;
        let mut key = String::new();
        self.set.read(number, &mut key)?;
        Some(if folder.is_empty() { key } else { format!("{folder}/{key}") })
    }

    /// Returns the number of the object with this key in the bucket, or `None` if the fill has no such object.
    pub fn number_of_key(&self, key: &str) -> Option<u64> {
        self.set.number(key.strip_prefix(self.location.prefix.as_str())?)
    }

    /// Returns the request that reads an object back and compares every byte.
    pub fn reading_back(&self, args: &Args) -> Result<RequestPlan, Failure> {
        let request = self.request(args, Access::Read, ("GET", OpKind::Get))?;
        Ok(RequestPlan { response_body: self.compared(), ..request })
    }

    /// Returns the check for the bodies of objects that are read back.
    fn compared(&self) -> ResponseBody {
        match &self.set {
            ObjectSet::Dataset(dataset, _) => {
                ResponseBody::Compared(Arc::new(Content::new(dataset.description().seed)))
            }
            ObjectSet::Files(files) => ResponseBody::ComparedWithFiles(Arc::clone(files)),
        }
    }

    /// Returns the multipart settings, if objects are uploaded in parts.
    pub fn multipart(&self) -> Option<Multipart> {
        self.upload.mix.requests().iter().find_map(|request| match request.then {
            Then::Parts(parts) => Some(parts),
            Then::End | Then::Pages { .. } | Then::Poll(_) => None,
        })
    }

    /// Returns the size of the parts of an object, if it is uploaded in parts.
    pub fn part_bytes(&self, number: u64) -> Option<NonZeroU64> {
        self.multipart().map(|parts| parts.part_bytes(self.size(number)))
    }

    /// Returns the size of an object and of its parts.
    pub fn shape(&self, number: u64) -> Shape {
        Shape { size: self.size(number), part_bytes: self.part_bytes(number) }
    }

    /// Returns whether the target has all bytes of a part. Compares the ETag with the MD5 of the part, because
    /// VersityGW lists a part that was cut off with its full size. If ETags are not MD5s, returns `false`, so that the
    /// part is sent again.
    pub fn part_is_whole(&self, number: u64, part: &ListedPart) -> bool {
        let shape = self.shape(number);
        let Some(part_bytes) = shape.part_bytes.filter(|_| shape.part_size(part.number.into()) == Some(part.size))
        else {
            return false;
        };
        let offset = u64::from(part.number - 1) * part_bytes.get();
        let mut hasher = Hasher::new(Algorithm::Md5);
        let hashed = self.read(number, (offset, part.size), |piece| hasher.update(piece));
        hashed.is_ok() && part.etag.trim_matches('"').eq_ignore_ascii_case(&hasher.finish().hex())
    }

    /// Calls `take` with pieces of the bytes of an object, starting at an offset.
    fn read(&self, number: u64, (offset, length): (u64, u64), mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let mut buffer = vec![0; PIECE_BYTES];
        let mut fill: Box<ReadAt> = match &self.set {
            ObjectSet::Dataset(dataset, _) => {
                let (content, mut key) = (Content::new(dataset.description().seed), String::new());
                self.set.read(number, &mut key).ok_or(io::ErrorKind::NotFound)?;
                Box::new(move |offset, piece| {
                    content.object(&key).fill(offset, piece);
                    Ok(())
                })
            }
            ObjectSet::Files(files) => {
                let file = files.file(number).ok_or(io::ErrorKind::NotFound)?.open()?;
                Box::new(move |offset, piece| file.read_exact_at(piece, offset))
            }
        };
        let mut done = 0;
        while done < length {
            let piece = &mut buffer[..(length - done).min(PIECE_BYTES as u64) as usize];
            fill(offset + done, piece)?;
            take(piece);
            done += piece.len() as u64;
        }
        Ok(())
    }

    /// Returns the identity of the fill. If the fill has no list of its files yet, writes this list.
    pub fn identity(&self, reservation: &Reservation) -> Result<Identity, StoreError> {
        let (copies, tree_digest) = match &self.set {
            ObjectSet::Dataset(..) => (1, None),
            ObjectSet::Files(files) => (files.copies().get(), Some(tree::digest(files, reservation)?)),
        };
        Ok(Identity {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            target: self.target(),
            dataset: self.about.clone(),
            objects: self.set.count(),
            object_bytes: self.bytes(),
            copies,
            part_bytes: self.multipart().map(|parts| parts.bytes.get()),
            order: "by number".to_owned(),
            tree_digest,
            share: self.share(),
            created_unix_ms: crate::saved::unix_ms(),
        })
    }

    /// Returns the share of these objects in the dataset, or `None` if they are the whole dataset.
    fn share(&self) -> Option<Share> {
        match &self.set {
            ObjectSet::Dataset(_, part) if *part != Part::WHOLE => Some(Share { index: part.index(), of: part.of() }),
            ObjectSet::Dataset(..) | ObjectSet::Files(_) => None,
        }
    }

    /// Returns the URLs of the location, one per server.
    pub fn target(&self) -> String {
        let DatasetLocation { origins, container, prefix, query, .. } = &self.location;
        let query = query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        let url =
            |origin: &wire::Origin| format!("{}://{}{container}/{prefix}{query}", origin.scheme, origin.host_header());
        origins.iter().map(|origin| crate::redact::url_text(&url(origin))).collect::<Vec<_>>().join(",")
    }

    /// Returns the size of all objects in bytes.
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.set.total_bytes()).unwrap_or(u64::MAX)
    }

    /// Returns a description for the user: `1,000 objects, 10 GiB`.
    pub fn description(&self) -> String {
        format!("{}, {}", report::number::plural(self.set.count(), "object"), ByteSize(self.bytes()).human())
    }
}

/// Returns the objects of a part, which has at least one object.
fn part_of(set: &ObjectSet, part: Part) -> Result<ObjectSet, Failure> {
    let own = set.part(part).ok_or_else(|| Failure::usage("--from: each host may have other files; leave it out"))?;
    if own.count() == 0 {
        let (objects, hosts) = (report::number::plural(set.count(), "object"), part.of());
        return Err(Failure::usage(format!(
            "{objects} cannot be divided among {hosts} hosts: each needs at least one"
        )));
    }
    Ok(own)
}

/// Returns the directory of the fill, from the flags or else from the name of the location. The directory is the same
/// for each start of the command.
pub fn directory(args: &Args) -> Result<PathBuf, Failure> {
    if let Some(directory) = &args.put.common.output.out {
        return Ok(directory.clone());
    }
    let (DatasetLocation { origins, container, prefix, query, .. }, _) = put::location(&args.put)?;
    let host = origins.first().map(wire::Origin::host_header).unwrap_or_default();
    let query = query.as_ref().map(|query| format!("_{query}")).unwrap_or_default();
    let path = format!("{host}{container}/{prefix}{query}").replace('/', "_");
    Ok(PathBuf::from("fills").join(store::directory_name::host_and_port(path.trim_end_matches('_'))))
}
