//! What is remembered of a dataset where it lies: a small object beside the others says which dataset was prepared there, so
//! that later commands need not be told, and none deletes what this one did not make.

use super::place::Place;
use super::{Args, Asked, aside, checks, headers};
use crate::execute;
use crate::failure::Failure;
use content::Dataset;
use engine::exchange::exchange;
use engine::plan::{BodyPlan, Choice, Mix, Plan, RequestPlan, fresh_number, fresh_prefix};
use measure::{AttemptOutcome, OpKind};
use std::sync::Arc;
use wire::s3::ListResult;

/// The object that describes the others, below their prefix.
pub const DESCRIPTION_KEY: &str = ".plimsoll-dataset.json";

/// A place, and how requests get there that belong to no run.
pub struct Stored<'a> {
    place: &'a Place,
    plan: Plan,
}

impl<'a> Stored<'a> {
    /// Reaches the place as the flags say.
    pub fn reach(args: &Args, place: &'a Place) -> Result<Self, Failure> {
        let request = RequestPlan { headers: headers(&args.requests, place.credentials.clone())?, ..get() };
        let asked = Asked {
            targets: place.one(DESCRIPTION_KEY)?,
            choice: Choice::RoundRobin,
            once: true,
            mix: Mix::one(request),
            auth: place.auth.clone(),
            spread: place.spread,
        };
        let mut plan = aside(args, asked)?;
        execute::prepare(&mut plan)?;
        Ok(Self { place, plan })
    }

    /// How requests get there.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The numbers of up to 1000 objects that runs with this dataset wrote beside it.
    pub fn fresh(&self, dataset: &Dataset) -> Result<Vec<u64>, Failure> {
        let prefix = format!("{}{}", self.place.prefix, fresh_prefix(dataset.description().seed.0));
        let query = format!("list-type=2&max-keys=1000&prefix={}", wire::percent::parameter(&prefix));
        let (status, message) = self.ask(RequestPlan { query: Some(query.into()), ..get() }, "")?;
        if status != 200 {
            return Err(Failure::could_not_run(format!("listing was answered with status {status}")));
        }
        let page = ListResult::parse(&message)
            .map_err(|error| Failure::could_not_run(format!("the listing can not be understood: {error}")))?;
        let seed = dataset.description().seed.0;
        let below = page.objects.iter().filter_map(|object| object.key.strip_prefix(self.place.prefix.as_str()));
        Ok(below.filter_map(|key| fresh_number(seed, key)).collect())
    }

    /// The dataset that was prepared there, if any was.
    pub fn dataset(&self) -> Result<Option<Dataset>, Failure> {
        let (status, message) = self.ask(get(), DESCRIPTION_KEY)?;
        match status {
            200 => {
                let damaged = |why: String| {
                    Failure::could_not_run(format!(
                        "{DESCRIPTION_KEY} can not be read: {why}; describe the dataset, like --count 100 --size 1MiB"
                    ))
                };
                let dataset = serde_json::from_slice(&message).map_err(|error| damaged(error.to_string()))?;
                Ok(Some(dataset))
            }
            404 => Ok(None),
            other => Err(Failure::could_not_run(format!(
                "asking for {DESCRIPTION_KEY} was answered with status {other}: check keys, bucket and server"
            ))),
        }
    }

    /// Remembers the dataset.
    pub fn keep(&self, dataset: &Dataset) -> Result<(), Failure> {
        let json = serde_json::to_vec(dataset).map_err(|error| Failure::could_not_run(error.to_string()))?;
        let body = Some(BodyPlan::of_bytes(Arc::from(json)));
        self.change(RequestPlan { body, ..RequestPlan::new("PUT", OpKind::Put) }, DESCRIPTION_KEY)
    }

    /// Forgets it.
    pub fn forget(&self) -> Result<(), Failure> {
        self.change(RequestPlan::new("DELETE", OpKind::Delete), DESCRIPTION_KEY)
    }

    /// Makes the bucket, unless it is there.
    pub fn make_bucket(&self) -> Result<(), Failure> {
        let body = Some(BodyPlan::of_bytes(Arc::from([])));
        let (status, _) = self.ask(RequestPlan { body, ..RequestPlan::new("PUT", OpKind::Request) }, "")?;
        match status {
            200..300 | 409 => Ok(()),
            other => Err(Failure::could_not_run(format!("the bucket could not be made: status {other}"))),
        }
    }

    fn change(&self, request: RequestPlan, key: &str) -> Result<(), Failure> {
        let method = request.method.clone();
        match self.ask(request, key)?.0 {
            200..300 => Ok(()),
            other => Err(Failure::could_not_run(format!("{method} of {key} was answered with status {other}"))),
        }
    }

    /// Sends one request for the object of that key, or for the bucket; the status, and the body of a good answer.
    fn ask(&self, request: RequestPlan, key: &str) -> Result<(u16, Box<[u8]>), Failure> {
        let targets = if key.is_empty() { self.place.bucket()? } else { self.place.one(key)? };
        let own = self.plan.mix.requests().first();
        let headers = own.map(|own| own.headers.clone()).unwrap_or_default();
        let plan = Plan { targets: Arc::new(targets), ..self.plan.clone() };
        let entry = exchange(&plan, RequestPlan { headers, ..request })
            .map_err(|error| Failure::could_not_run(error.to_string()))?;
        let Some(entry) = entry else { return Err(Failure::could_not_run("interrupted")) };
        match entry.status {
            Some(status) => Ok((status, entry.message.unwrap_or_default())),
            None => {
                let AttemptOutcome { cause, .. } = entry.outcome;
                let url = crate::redact::url_text(&plan.targets.url(engine::plan::Subject::Target(0)));
                Err(Failure::could_not_run(format!("{url} could not be asked: {}", cause.about())))
            }
        }
    }
}

fn get() -> RequestPlan {
    RequestPlan::new("GET", OpKind::Get)
}

/// The dataset that the flags describe, or else the one that was prepared there.
pub fn dataset(
    args: &Args,
    place: &Place,
    objects: &crate::command::dataset::Args,
    seed: u64,
) -> Result<Dataset, Failure> {
    if objects.is_given() {
        return objects.dataset(seed);
    }
    Stored::reach(args, place)?.dataset()?.ok_or_else(|| {
        Failure::usage(
            "no dataset was prepared there: run `plimsoll prepare` with the same location first, or describe one, like --count 100 --size 1MiB",
        )
    })
}

/// What a good answer to a request of the run is, with the headers that all have.
pub fn request(args: &Args, place: &Place, method: &str, kind: OpKind) -> Result<RequestPlan, Failure> {
    let headers = headers(&args.requests, place.credentials.clone())?;
    let checks = checks(&args.checks, &headers)?;
    Ok(RequestPlan { headers, checks, ..RequestPlan::new(method, kind) })
}
