//! The objects of a fill: where they are at the target, and how they are uploaded.

use super::Args;
use crate::command::put;
use crate::execute;
use crate::failure::Failure;
use crate::load::dataset_location::DatasetLocation;
use content::{Content, Dataset};
use engine::plan::{Area, Members, Multipart, Plan, RetryPolicy, Targets, Then};
use fill::in_doubt::Shape;
use measure::units::ByteSize;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use store::fill_directory::{FORMAT, Identity};
use wire::checksum::{Algorithm, Hasher};
use wire::s3::ListedPart;

/// Number of bytes that are generated at a time to check a part.
const PIECE_BYTES: usize = 64 << 10;

/// The objects of a fill, and the plan that uploads all of them.
pub struct Objects {
    /// Their location.
    pub location: DatasetLocation,
    /// Their names, sizes and bytes.
    pub dataset: Dataset,
    /// The plan that uploads all objects once, with retries.
    pub upload: Plan,
}

impl Objects {
    /// Returns the objects that the flags describe. Sends no request.
    pub fn of(args: &Args) -> Result<Self, Failure> {
        if args.put.from.is_some() {
            return Err(Failure::usage("--from: a fill of files is not supported yet: use `plimsoll put --from`"));
        }
        let (location, form) = put::location(&args.put)?;
        let dataset = args.put.objects.dataset(args.put.dataset_seed)?;
        if dataset.count() >= store::journal::OBJECTS_MAX {
            return Err(Failure::usage(format!("a fill has at most {} objects", store::journal::OBJECTS_MAX - 1)));
        }
        let plan = put::plan_at(&args.put, &location, form)?;
        let mut upload = Plan { retry: Some(RetryPolicy::default()), log_ops: true, ..plan };
        execute::prepare(&mut upload)?;
        Ok(Self { location, dataset, upload })
    }

    /// Returns the objects with these numbers as targets.
    pub fn chosen(&self, numbers: &[u64]) -> Targets {
        self.location.chosen(self.dataset.clone(), numbers)
    }

    /// Returns the objects that are left as targets: those with the chosen numbers, then all from `from` on.
    pub fn rest(&self, chosen: Vec<u64>, from: u64) -> Targets {
        let (container, prefix) = (self.location.container.as_str().into(), self.location.prefix.as_str().into());
        let objects = Members::Rest { chosen: chosen.into(), from };
        Targets::of_dataset(
            self.location.origins.clone(),
            Area { dataset: self.dataset.clone(), objects, container, prefix },
        )
    }

    /// Returns the size of an object in bytes.
    pub fn size(&self, number: u64) -> u64 {
        self.dataset.size(number).map_or(0, |size| size.0)
    }

    /// Returns the number of the object with this key in the bucket; `None` if it is not one of this fill.
    pub fn number_of_key(&self, key: &str) -> Option<u64> {
        self.dataset.index_of(key.strip_prefix(self.location.prefix.as_str())?)
    }

    /// Returns the content with which objects that are read back are compared.
    pub fn content(&self) -> Arc<Content> {
        Arc::new(Content::new(self.dataset.description().seed))
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

    /// Returns whether the target has all bytes of a part: its ETag must be the MD5 of the part. The size is no evidence,
    /// since VersityGW lists a part that was cut off with its full size. At a target whose ETags are no MD5s, parts are
    /// sent again.
    pub fn part_is_whole(&self, number: u64, part: &ListedPart) -> bool {
        let shape = self.shape(number);
        let Some(part_bytes) = shape.part_bytes.filter(|_| shape.part_size(part.number.into()) == Some(part.size))
        else {
            return false;
        };
        let offset = u64::from(part.number - 1) * part_bytes.get();
        let mut key = String::new();
        if self.dataset.read(number, &mut key).is_none() {
            return false;
        }
        let (content, mut hasher) = (self.content(), Hasher::new(Algorithm::Md5));
        let (object, mut buffer) = (content.object(&key), vec![0; PIECE_BYTES]);
        let mut done = 0;
        while done < part.size {
            let piece = &mut buffer[..(part.size - done).min(PIECE_BYTES as u64) as usize];
            object.fill(offset + done, piece);
            hasher.update(piece);
            done += piece.len() as u64;
        }
        part.etag.trim_matches('"').eq_ignore_ascii_case(&hasher.finish().hex())
    }

    /// Returns the identity of the fill.
    pub fn identity(&self) -> Result<Identity, Failure> {
        let description = self.dataset.description();
        let dataset = serde_json::to_value(description).map_err(Failure::could_not_run)?;
        Ok(Identity {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            target: self.target(),
            dataset,
            objects: self.dataset.count(),
            object_bytes: u64::try_from(self.dataset.total_bytes()).unwrap_or(u64::MAX),
            copies: 1,
            part_bytes: self.multipart().map(|parts| parts.bytes.get()),
            order: "by number".to_owned(),
            tree_digest: None,
            created_unix_ms: crate::saved::unix_ms(),
        })
    }

    /// Returns the URL of the location, of each server.
    fn target(&self) -> String {
        let DatasetLocation { origins, container, prefix, query, .. } = &self.location;
        let query = query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        let url =
            |origin: &wire::Origin| format!("{}://{}{container}/{prefix}{query}", origin.scheme, origin.host_header());
        origins.iter().map(|origin| crate::redact::url_text(&url(origin))).collect::<Vec<_>>().join(",")
    }

    /// Returns the directory that a fill of this target has by default. It is the same for each start of the command.
    pub fn default_directory(&self) -> PathBuf {
        let DatasetLocation { origins, container, prefix, .. } = &self.location;
        let host = origins.first().map(wire::Origin::host_header).unwrap_or_default();
        let path = format!("{host}{container}/{prefix}").replace('/', "_");
        PathBuf::from("fills").join(store::directory_name::host_and_port(path.trim_end_matches('_')))
    }

    /// Returns a description for the user: `1,000 objects, 10 GiB`.
    pub fn description(&self) -> String {
        let bytes = u64::try_from(self.dataset.total_bytes()).unwrap_or(u64::MAX);
        format!("{}, {}", report::number::plural(self.dataset.count(), "object"), ByteSize(bytes).human())
    }
}
