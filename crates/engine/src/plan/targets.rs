//! The objects of a run. The objects are the URLs of a list, or the objects of a dataset, whose URLs are computed.

use super::Part;
use super::files::LocalFiles;
use content::Dataset;
use std::num::NonZeroU64;
use std::sync::Arc;
use wire::url::{Origin, Url};

/// Maximum number of different origins in a list of URLs.
pub const ORIGINS_MAX: usize = 4096;

/// The origins and objects of a run.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    origins: Vec<Origin>,
    objects: Objects,
}

/// The objects.
#[derive(Clone, Debug)]
enum Objects {
    /// The URLs of a list, stored compactly because there can be millions.
    Listed(Vec<Item>),
    /// Objects of a set, whose names are computed.
    Set(Box<Area>),
}

impl Default for Objects {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

/// A URL of a list.
#[derive(Clone, Debug)]
pub struct Item {
    /// Index into [`Targets::origins`].
    pub origin: u32,
    /// Path and query.
    pub target: Box<str>,
    /// Size of the object, when known.
    pub size: Option<u64>,
}

/// Objects whose names and sizes are computed from their numbers.
#[derive(Clone, Debug)]
pub enum ObjectSet {
    /// Generated objects: the part of a dataset that one of several machines uploads, or the whole dataset. The objects
    /// of a part have numbers without gaps.
    Dataset(Arc<Dataset>, Part),
    /// Local files, with their copies.
    Files(Arc<LocalFiles>),
}

impl From<Dataset> for ObjectSet {
    fn from(dataset: Dataset) -> Self {
        Self::Dataset(Arc::new(dataset), Part::WHOLE)
    }
}

impl ObjectSet {
    /// Returns the number of objects.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Dataset(dataset, part) => part.count_below(dataset.count()),
            Self::Files(files) => files.count(),
        }
    }

    /// Writes the key of an object to `key`, and returns its size in bytes. `None` if there is no such object.
    pub fn read(&self, number: u64, key: &mut String) -> Option<u64> {
        match self {
            Self::Dataset(dataset, part) => dataset.read(part.number(number), key).map(|size| size.0),
            Self::Files(files) => files.read(number, key),
        }
    }

    /// Returns the size of an object in bytes.
    #[must_use]
    pub fn size(&self, number: u64) -> Option<u64> {
        match self {
            Self::Dataset(dataset, part) => dataset.size(part.number(number)).map(|size| size.0),
            Self::Files(files) => files.file(number).map(|file| file.size),
        }
    }

    /// Returns the number of the object with this key.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        match self {
            Self::Dataset(dataset, part) => part.own(dataset.index_of(key)?),
            Self::Files(files) => files.number(key),
        }
    }

    /// Returns the total size of all objects in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u128 {
        match self {
            Self::Dataset(dataset, part) => {
                let of = NonZeroU64::new(u64::from(part.of())).unwrap_or(NonZeroU64::MIN);
                dataset.bytes_of_every(of, u64::from(part.index()))
            }
            Self::Files(files) => files.total_bytes(),
        }
    }

    /// Returns the part of these objects that one of several machines uploads. Returns `None` for local files, because
    /// the machines may have different files.
    #[must_use]
    pub fn part(&self, part: Part) -> Option<Self> {
        match self {
            Self::Dataset(dataset, own) if *own == Part::WHOLE => Some(Self::Dataset(Arc::clone(dataset), part)),
            Self::Dataset(..) | Self::Files(_) => None,
        }
    }

    /// Returns the whole dataset, if the objects are generated.
    #[must_use]
    pub fn dataset(&self) -> Option<&Dataset> {
        match self {
            Self::Dataset(dataset, _) => Some(dataset),
            Self::Files(_) => None,
        }
    }
}

/// Place of a set of objects at a server.
#[derive(Clone, Debug)]
pub struct Area {
    /// Set that determines the names and sizes of the objects.
    pub set: ObjectSet,
    /// Objects of the set that the run uses.
    pub objects: Members,
    /// Encoded path of the bucket or folder, without a slash at the end.
    pub container: Box<str>,
    /// Prefix of every key, in plain text. Unless it is empty, the prefix ends with a slash.
    pub prefix: Box<str>,
    /// Query of the path of each object.
    pub query: ObjectQuery,
}

/// Query that belongs to an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectQuery {
    /// No query.
    #[default]
    None,
    /// A query `source=PATH` with the path of the object's local file. The server reads this file itself.
    SourceFile,
}

/// Those objects of an area that a run uses.
#[derive(Clone, Debug)]
pub enum Members {
    /// All objects of the set.
    All,
    /// The objects of the set with these numbers.
    Chosen(Box<[u64]>),
    /// The objects that remain for a resumed run. The run first uses the objects with the numbers in `chosen`, and then
    /// all objects from number `from` on.
    Rest {
        /// Numbers of the first objects.
        chosen: Box<[u64]>,
        /// Number of the first of the remaining objects.
        from: u64,
    },
    /// Objects that runs wrote in addition to the dataset, given by their numbers.
    Fresh(Box<[u64]>),
}

/// Object that an operation reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// One of [`Targets`], by index.
    Target(u64),
    /// An object that the run writes in addition to the objects of the dataset, given by its number.
    Fresh(u64),
    /// Not an object: the bucket or folder that contains the objects.
    Container,
}

impl Area {
    /// Returns the number of objects that the run uses.
    fn count(&self) -> u64 {
        match &self.objects {
            Members::All => self.set.count(),
            Members::Chosen(numbers) | Members::Fresh(numbers) => numbers.len() as u64,
            Members::Rest { chosen, from } => {
                (chosen.len() as u64).saturating_add(self.set.count().saturating_sub(*from))
            }
        }
    }

    /// Returns the number that the target with this index has in the set. `None` if the target is not an object of the
    /// set.
    fn number(&self, index: u64) -> Option<u64> {
        let of = |numbers: &[u64]| numbers.get(usize::try_from(index).ok()?).copied();
        match &self.objects {
            Members::All => Some(index),
            Members::Chosen(numbers) => of(numbers),
            Members::Rest { chosen, from } => {
                of(chosen).or_else(|| from.checked_add(index.checked_sub(chosen.len() as u64)?))
            }
            Members::Fresh(_) => None,
        }
        .filter(|number| *number < self.set.count())
    }

    /// Writes the object's key to `key`, in plain text and without the prefix, and returns the object's size. Key and
    /// size determine the content of the object. Returns `None` for an object that does not exist.
    pub fn read_key(&self, subject: Subject, key: &mut String) -> Option<u64> {
        match (subject, &self.objects) {
            (Subject::Target(index), Members::Fresh(numbers)) => {
                self.read_key(Subject::Fresh(*numbers.get(usize::try_from(index).ok()?)?), key)
            }
            (Subject::Target(index), _) => self.set.read(self.number(index)?, key),
            (Subject::Fresh(number), _) => {
                // The new object has the same size as an object of the dataset. Its name contains the dataset's seed,
                // and differs from the names of all objects of the dataset.
                let dataset = self.set.dataset()?;
                let size = dataset.size(number.checked_rem(dataset.count())?)?.0;
                key.clear();
                fresh_key(dataset.description().seed.0, number, key);
                Some(size)
            }
            (Subject::Container, _) => None,
        }
    }

    /// Returns the object's key in its bucket, in plain text. `key` is overwritten.
    #[must_use]
    pub fn key_in_bucket(&self, subject: Subject, key: &mut String) -> Option<Box<str>> {
        self.read_key(subject, key)?;
        Some([self.prefix.as_ref(), key].concat().into())
    }

    /// Appends the encoded path of an object.
    fn write_path(&self, subject: Subject, key: &mut String, path: &mut String) {
        if subject == Subject::Container {
            path.push_str(if self.container.is_empty() { "/" } else { &self.container });
        } else if self.read_key(subject, key).is_some() {
            path.push_str(&self.container);
            path.push('/');
            wire::percent::push_path(&self.prefix, path);
            wire::percent::push_path(key, path);
            self.write_query(subject, path);
        }
    }

    fn write_query(&self, subject: Subject, path: &mut String) {
        let (ObjectQuery::SourceFile, ObjectSet::Files(files), Subject::Target(index)) =
            (self.query, &self.set, subject)
        else {
            return;
        };
        let file = self.number(index).and_then(|number| files.file(number));
        let source = file.map(|file| wire::percent::parameter(&file.path.to_string_lossy()));
        path.push_str("?source=");
        path.push_str(&source.unwrap_or_default());
    }
}

/// Returns the prefix of the keys of [`Subject::Fresh`], for a dataset with this seed.
#[must_use]
pub fn fresh_prefix(seed: u64) -> String {
    format!("plimsoll-fresh-{seed:016x}-")
}

fn fresh_key(seed: u64, number: u64, key: &mut String) {
    use std::fmt::Write;
    // Writing to memory does not fail.
    let _ = write!(key, "plimsoll-fresh-{seed:016x}-{number:020}");
}

/// Returns the number in the key of a [`Subject::Fresh`] that a run with this dataset wrote. `None` for other keys.
#[must_use]
pub fn fresh_number(seed: u64, key: &str) -> Option<u64> {
    let number = key.strip_prefix(&fresh_prefix(seed))?;
    let is_number = number.len() == 20 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse().ok())?
}

impl Targets {
    /// Returns the objects of a set at several origins. Each origin serves all objects.
    #[must_use]
    pub fn of_set(origins: Vec<Origin>, area: Area) -> Self {
        Self { origins, objects: Objects::Set(Box::new(area)) }
    }

    /// Returns an empty list of URLs, for these origins.
    #[must_use]
    pub fn at(origins: Vec<Origin>) -> Self {
        Self { origins, objects: Objects::default() }
    }

    /// Returns a list of encoded paths with their queries, each with the index of its origin.
    #[must_use]
    pub fn of_paths(origins: Vec<Origin>, paths: impl IntoIterator<Item = (usize, Box<str>)>) -> Self {
        let item = |(origin, target)| Item { origin: origin as u32, target, size: None };
        Self { origins, objects: Objects::Listed(paths.into_iter().map(item).collect()) }
    }

    /// Adds a URL. Returns `false` if there are too many origins, or if the targets are a dataset.
    #[must_use]
    pub fn push(&mut self, url: &Url) -> bool {
        // Lists are mostly sorted by origin. The search starts at the last origin, which is the most likely match.
        let known = self.origins.iter().rposition(|origin| origin == url.origin());
        let Objects::Listed(items) = &mut self.objects else { return false };
        if known.is_none() && self.origins.len() >= ORIGINS_MAX {
            return false;
        }
        let origin = known.unwrap_or_else(|| {
            self.origins.push(url.origin().clone());
            self.origins.len() - 1
        });
        items.push(Item { origin: origin as u32, target: url.target().into(), size: None });
        true
    }

    /// Returns the URLs of a list. The result is empty for a dataset.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        match &self.objects {
            Objects::Listed(items) => items,
            Objects::Set(_) => &[],
        }
    }

    /// Returns the path and query of a listed URL; `None` for a dataset.
    #[must_use]
    pub fn target(&self, subject: Subject) -> Option<&str> {
        let Subject::Target(index) = subject else { return None };
        self.items().get(usize::try_from(index).ok()?).map(|item| item.target.as_ref())
    }

    /// Returns the URLs of a list, so that their sizes can be set.
    pub fn items_mut(&mut self) -> &mut [Item] {
        match &mut self.objects {
            Objects::Listed(items) => items,
            Objects::Set(_) => &mut [],
        }
    }

    /// Returns the set of objects and its place at the server; `None` if the targets are a list of URLs.
    #[must_use]
    pub fn area(&self) -> Option<&Area> {
        match &self.objects {
            Objects::Listed(_) => None,
            Objects::Set(area) => Some(area),
        }
    }

    /// Returns the same origins with only these items.
    pub(crate) fn only(&self, items: &[usize]) -> Self {
        let kept = items.iter().filter_map(|index| self.items().get(*index).cloned());
        Self { origins: self.origins.clone(), objects: Objects::Listed(kept.collect()) }
    }

    /// Returns the origins.
    #[must_use]
    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.objects {
            Objects::Listed(items) => items.len() as u64,
            Objects::Set(area) => area.count(),
        }
    }

    /// Returns the origin of a listed URL; `None` for a dataset, whose origins serve all objects.
    #[inline]
    pub(crate) fn origin(&self, subject: Subject) -> Option<usize> {
        match (&self.objects, subject) {
            (Objects::Listed(items), Subject::Target(index)) => Some(items.get(index as usize)?.origin as usize),
            (Objects::Listed(_) | Objects::Set(_), _) => None,
        }
    }

    /// Returns the number of a target in its dataset, or its index in a list. This number identifies the object in all
    /// runs with the same dataset or list, even if a run uses only a part of the objects. Returns `None` for other
    /// objects.
    #[must_use]
    pub fn object_number(&self, subject: Subject) -> Option<u64> {
        let Subject::Target(index) = subject else { return None };
        match &self.objects {
            Objects::Listed(items) => (index < items.len() as u64).then_some(index),
            Objects::Set(area) => area.number(index),
        }
    }

    /// Returns the size of the object, if it is known.
    #[inline]
    #[must_use]
    pub fn size(&self, subject: Subject) -> Option<u64> {
        match (&self.objects, subject) {
            (Objects::Listed(items), Subject::Target(index)) => items.get(index as usize)?.size,
            (Objects::Set(area), Subject::Target(index)) if !matches!(area.objects, Members::Fresh(_)) => {
                area.set.size(area.number(index)?)
            }
            (Objects::Set(area), Subject::Target(_) | Subject::Fresh(_)) => area.read_key(subject, &mut String::new()),
            (_, Subject::Container) | (Objects::Listed(_), Subject::Fresh(_)) => None,
        }
    }

    /// Appends the encoded path and query of an object. `key` is only a buffer, whose content is overwritten.
    #[inline]
    pub fn write_path(&self, subject: Subject, key: &mut String, path: &mut String) {
        match (&self.objects, subject) {
            (Objects::Listed(items), Subject::Target(index)) => {
                path.push_str(items.get(index as usize).map_or("/", |item| &item.target));
            }
            (Objects::Set(area), _) => area.write_path(subject, key, path),
            (Objects::Listed(_), Subject::Fresh(_) | Subject::Container) => path.push('/'),
        }
    }

    /// Returns the URL with this index in the list, if there is one.
    #[must_use]
    pub fn listed(&self, index: usize) -> Option<Url> {
        self.items().get(index)?;
        self.url(Subject::Target(index as u64)).parse().ok()
    }

    /// Returns the URL of an object. For a dataset, whose objects have no own origin, the URL has the first origin.
    #[must_use]
    pub fn url(&self, subject: Subject) -> String {
        let Some(origin) = self.origins.get(self.origin(subject).unwrap_or(0)) else { return String::new() };
        let mut url = format!("{}://{}", origin.scheme, origin.host_header());
        self.write_path(subject, &mut String::new(), &mut url);
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use content::{Description, Names, Seed};

    fn targets() -> Targets {
        of(Members::All)
    }

    fn of(objects: Members) -> Targets {
        let description = Description {
            seed: Seed(7),
            count: 3,
            sizes: "1KiB,2KiB".parse().unwrap(),
            names: Names::new("a b/o-", 2, ".bin", None).unwrap(),
            last_bytes: None,
        };
        let origin = Url::parse("http://h:1/").unwrap().origin().clone();
        let dataset = Dataset::new(description);
        let (container, prefix) = ("/bucket".into(), "p q/".into());
        Targets::of_set(
            vec![origin],
            Area { set: dataset.into(), objects, container, prefix, query: ObjectQuery::None },
        )
    }

    #[test]
    fn objects_of_a_dataset_have_urls_and_sizes() {
        let targets = targets();
        assert_eq!(targets.url(Subject::Target(1)), "http://h:1/bucket/p%20q/a%20b/o-01.bin");
        assert_eq!((targets.size(Subject::Target(1)), targets.size(Subject::Target(3))), (Some(2048), None));
    }

    #[test]
    fn the_parts_of_a_dataset_are_the_dataset() {
        let whole = targets().area().unwrap().set.clone();
        for of in [1, 2, 3, 5] {
            let parts: Vec<ObjectSet> =
                (0..of).map(|index| whole.part(Part::new(index, of).unwrap()).unwrap()).collect();
            assert_eq!(parts.iter().map(ObjectSet::count).sum::<u64>(), whole.count());
            assert_eq!(parts.iter().map(ObjectSet::total_bytes).sum::<u128>(), whole.total_bytes());
            let (mut key, mut own_key) = (String::new(), String::new());
            for number in 0..whole.count() {
                let size = whole.read(number, &mut key);
                let owners = parts.iter().filter_map(|part| Some((part, part.number(&key)?)));
                let owners: Vec<_> = owners.collect();
                assert_eq!(owners.len(), 1, "{key} belongs to one part");
                assert_eq!((owners[0].0.read(owners[0].1, &mut own_key), &own_key), (size, &key));
                assert!(owners[0].1 < owners[0].0.count() && owners[0].0.size(owners[0].0.count()).is_none());
            }
        }
        assert!(whole.part(Part::new(0, 2).unwrap()).unwrap().part(Part::WHOLE).is_none(), "a part has no parts");
    }

    #[test]
    fn a_resumed_run_uses_the_chosen_objects_and_those_from_a_number_on() {
        let rest = of(Members::Rest { chosen: [0].into(), from: 2 });
        let number = |targets: &Targets, index| targets.object_number(Subject::Target(index));
        assert_eq!((rest.count(), number(&rest, 0), number(&rest, 1), number(&rest, 2)), (2, Some(0), Some(2), None));
        assert_eq!(rest.url(Subject::Target(1)), targets().url(Subject::Target(2)));
        assert_eq!(rest.size(Subject::Target(1)), targets().size(Subject::Target(2)));
        assert_eq!((rest.size(Subject::Target(2)), number(&rest, u64::MAX)), (None, None));
        let over = of(Members::Rest { chosen: [1].into(), from: 9 });
        assert_eq!((over.count(), number(&over, 0), number(&over, 1)), (1, Some(1), None));
        assert_eq!(number(&of(Members::Chosen([2, 7].into())), 0), Some(2));
        let fresh = of(Members::Fresh([1].into()));
        assert_eq!((number(&fresh, 0), fresh.object_number(Subject::Fresh(1))), (None, None));
        let listed = Targets::of_paths(Vec::new(), [(0, "/a".into()), (0, "/b".into())]);
        assert_eq!((number(&listed, 1), number(&listed, 2)), (Some(1), None));
    }

    #[test]
    fn fresh_objects_have_recognizable_names() {
        let targets = targets();
        let mut key = String::new();
        assert_eq!(targets.area().unwrap().read_key(Subject::Fresh(4), &mut key), Some(2048));
        assert_eq!(key, "plimsoll-fresh-0000000000000007-00000000000000000004");
        assert_eq!(fresh_number(7, &key), Some(4));
        for other in ["plimsoll-fresh-0000000000000008-00000000000000000004", "plimsoll-fresh-", "a b/o-01.bin", ""] {
            assert_eq!(fresh_number(7, other), None, "{other}");
        }
        assert_eq!(fresh_number(7, &format!("{key}x")), None);
        assert_eq!(
            fresh_number(7, &format!("{}{}", fresh_prefix(7), u128::pow(10, 20) - 1)),
            None,
            "the number is too large for a run"
        );
        let several = of(Members::Fresh([4, 9].into()));
        assert_eq!((several.count(), several.size(Subject::Target(1))), (2, Some(1024)));
        assert_eq!(several.url(Subject::Target(0)), targets.url(Subject::Fresh(4)));
        let area = several.area().unwrap();
        let second = area.key_in_bucket(Subject::Target(1), &mut key);
        assert_eq!(second.as_deref(), Some("p q/plimsoll-fresh-0000000000000007-00000000000000000009"));
        assert_eq!(area.key_in_bucket(Subject::Target(2), &mut key), None);
    }
}
