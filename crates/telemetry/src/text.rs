//! The text formats of Prometheus and OpenMetrics, and the choice between them.

use crate::buckets::bounds_in_seconds;
use crate::{BucketCounts, Family, Labels, Number, Sample, Samples};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;

/// Version of OpenMetrics.
const OPENMETRICS_VERSION: &str = "1.0.0";

/// A text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus.
    Prometheus,
}

impl Format {
    /// Returns the format that the client prefers, from the value of its header `Accept`. The default is the text
    /// format of Prometheus.
    #[must_use]
    pub fn of_accept(accept: Option<&str>) -> Self {
        let mut best = (Self::Prometheus, 0.0);
        for part in accept.unwrap_or_default().split(',') {
            let mut words = part.split(';').map(str::trim);
            let media = words.next().unwrap_or_default().to_ascii_lowercase();
            let (mut weight, mut version) = (1.0, None);
            for (name, value) in words.filter_map(|word| word.split_once('=')) {
                match name.trim().to_ascii_lowercase().as_str() {
                    "q" => weight = value.trim().parse().ok().filter(|q| (0.0..=1.0).contains(q)).unwrap_or(0.0),
                    "version" => version = Some(value.trim().trim_matches('"')),
                    _ => {}
                }
            }
            let format = match media.as_str() {
                "application/openmetrics-text" if version.is_none_or(|version| version == OPENMETRICS_VERSION) => {
                    Self::OpenMetrics
                }
                "text/plain" | "text/*" | "*/*" => Self::Prometheus,
                _ => continue,
            };
            if weight > best.1 {
                best = (format, weight);
            }
        }
        best.0
    }

    /// Returns the value of the header `Content-Type`.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => prometheus_text::CONTENT_TYPE,
        }
    }

    /// Encodes metrics.
    #[must_use]
    pub fn encode(self, families: Vec<Family>) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Families(families)));
        let mut written = String::new();
        let encoded = match self {
            Self::OpenMetrics => text::encode(&mut written, &registry),
            Self::Prometheus => prometheus_text::encode(&mut written, &registry),
        };
        debug_assert!(encoded.is_ok(), "writing to memory does not fail");
        written
    }
}

#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        self.0.iter().try_for_each(|family| write(family, &mut encoder))
    }
}

fn write(family: &Family, encoder: &mut DescriptorEncoder) -> fmt::Result {
    let unit = match family.unit {
        crate::Unit::None => None,
        crate::Unit::Seconds => Some(Unit::Seconds),
        crate::Unit::Bytes => Some(Unit::Bytes),
    };
    let kind = match family.samples {
        Samples::Counter(_) => MetricType::Counter,
        Samples::Gauge(_) => MetricType::Gauge,
        Samples::Info(_) => MetricType::Info,
        Samples::Histogram(_) => MetricType::Histogram,
    };
    let mut encoder = encoder.encode_descriptor(family.name, family.help, unit.as_ref(), kind)?;
    match &family.samples {
        Samples::Counter(samples) => each(samples, &mut encoder, write_counter),
        Samples::Gauge(samples) => each(samples, &mut encoder, write_gauge),
        Samples::Info(samples) => samples.iter().try_for_each(|labels| encoder.encode_info(labels)),
        Samples::Histogram(samples) => each(samples, &mut encoder, write_histogram),
    }
}

/// Writes samples with their labels.
fn each<V>(
    samples: &[Sample<V>],
    encoder: &mut MetricEncoder,
    write: fn(&V, &mut MetricEncoder) -> fmt::Result,
) -> fmt::Result {
    samples.iter().try_for_each(|Sample { labels, value }| write(value, &mut encoder.encode_family::<Labels>(labels)?))
}

fn write_counter(value: &Number, encoder: &mut MetricEncoder) -> fmt::Result {
    match value {
        Number::Whole(whole) => encoder.encode_counter::<NoLabelSet, u64, f64>(whole, None),
        Number::Real(real) => encoder.encode_counter::<NoLabelSet, f64, f64>(real, None),
    }
}

fn write_gauge(value: &Number, encoder: &mut MetricEncoder) -> fmt::Result {
    match value {
        Number::Whole(whole) => encoder.encode_gauge(whole),
        Number::Real(real) => encoder.encode_gauge(real),
    }
}

fn write_histogram(value: &BucketCounts, encoder: &mut MetricEncoder) -> fmt::Result {
    let bounds = bounds_in_seconds().chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(value.counts().iter().copied()).collect();
    encoder.encode_histogram::<NoLabelSet>(value.sum_seconds(), value.count(), &buckets, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_chooses_the_format() {
        use Format::{OpenMetrics, Prometheus};
        let of_prometheus_2_42 = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
            text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, format) in [
            (None, Prometheus),
            (Some(""), Prometheus),
            (Some("*/*"), Prometheus),
            (Some("text/html, text/plain;q=0.5"), Prometheus),
            (Some(of_prometheus_2_42), OpenMetrics),
            (Some("application/openmetrics-text"), OpenMetrics),
            (Some("Application/OpenMetrics-Text; Version=\"1.0.0\"; charset=utf-8"), OpenMetrics),
            (Some("application/openmetrics-text;version=0.0.1"), Prometheus),
            (Some("application/openmetrics-text;q=0.2, text/plain;q=0.9"), Prometheus),
            (Some("text/plain;q=0.2,application/openmetrics-text;q=0.3"), OpenMetrics),
            (Some("application/openmetrics-text;q=0"), Prometheus),
            (Some("application/openmetrics-text;q=fast"), Prometheus),
            (
                Some("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"),
                Prometheus,
            ),
            (Some(";;;,=,q=1"), Prometheus),
        ] {
            assert_eq!(Format::of_accept(accept), format, "{accept:?}");
        }
    }

    #[test]
    fn label_values_are_escaped() {
        let hostile = "a\"b\\c\nd".to_owned();
        let family = Family {
            name: "plimsoll_run",
            unit: crate::Unit::None,
            help: "Target.",
            samples: Samples::Info(vec![vec![("target", hostile)]]),
        };
        let text = Format::Prometheus.encode(vec![family.clone()]);
        assert!(text.ends_with("plimsoll_run_info{target=\"a\\\"b\\\\c\\nd\"} 1\n"), "{text}");
        let text = Format::OpenMetrics.encode(vec![family]);
        assert!(text.ends_with("plimsoll_run_info{target=\"a\\\"b\\\\c\\nd\"} 1\n# EOF\n"), "{text}");
    }
}
