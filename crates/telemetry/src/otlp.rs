//! Metrics in the protocol of OpenTelemetry (OTLP), as a protobuf message.
//!
//! Names are the same as in the text formats, but without `_total`. A collector that passes the metrics on to
//! Prometheus therefore produces the same names as a scrape.

use crate::buckets::bounds_in_seconds;
use crate::{BucketCounts, Family, Labels, Number, Sample, Samples, Unit};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;

/// Media type of the message.
pub const CONTENT_TYPE: &str = "application/x-protobuf";

/// Start of the totals and time of the push, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Start of the totals.
    pub start: u64,
    /// Time of the push.
    pub now: u64,
}

/// Encodes metrics as a message. `instance` distinguishes this process from others.
#[must_use]
pub fn encode(families: &[Family], instance: &str, times: Times) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let attributes = vec![
        attribute("service.name", "plimsoll"),
        attribute("service.version", &version),
        attribute("service.instance.id", instance),
    ];
    let scope = InstrumentationScope { name: "plimsoll".to_owned(), version, ..InstrumentationScope::default() };
    let metrics = families.iter().map(|family| metric(family, times)).collect();
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope), metrics, ..ScopeMetrics::default() }];
    let resource = Some(Resource { attributes, ..Resource::default() });
    let resource_metrics = vec![ResourceMetrics { resource, scope_metrics, ..ResourceMetrics::default() }];
    ExportMetricsServiceRequest { resource_metrics }.encode_to_vec()
}

fn metric(family: &Family, times: Times) -> Metric {
    let Family { name, unit, help, samples } = family;
    let (unit_text, suffix) = match unit {
        Unit::None => ("1", String::new()),
        Unit::Seconds => ("s", "_seconds".to_owned()),
        Unit::Bytes => ("By", "_bytes".to_owned()),
    };
    let temporality = AggregationTemporality::Cumulative.into();
    let (suffix, data) = match samples {
        Samples::Counter(samples) => {
            let data_points = samples.iter().map(|sample| number(sample, times)).collect();
            (suffix, Data::Sum(Sum { data_points, aggregation_temporality: temporality, is_monotonic: true }))
        }
        Samples::Gauge(samples) => {
            (suffix, Data::Gauge(Gauge { data_points: samples.iter().map(|sample| number(sample, times)).collect() }))
        }
        Samples::Info(samples) => {
            let one = |labels: &Labels| number(&Sample { labels: labels.clone(), value: Number::Whole(1) }, times);
            ("_info".to_owned(), Data::Gauge(Gauge { data_points: samples.iter().map(one).collect() }))
        }
        Samples::Histogram(samples) => {
            let data_points = samples.iter().map(|sample| histogram(sample, times)).collect();
            (suffix, Data::Histogram(Histogram { data_points, aggregation_temporality: temporality }))
        }
    };
    Metric {
        name: format!("{name}{suffix}"),
        description: (*help).to_owned(),
        unit: unit_text.to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn number(sample: &Sample<Number>, times: Times) -> NumberDataPoint {
    let value = match sample.value {
        Number::Whole(whole) => number_data_point::Value::AsInt(i64::try_from(whole).unwrap_or(i64::MAX)),
        Number::Real(real) => number_data_point::Value::AsDouble(real),
    };
    NumberDataPoint {
        attributes: attributes(&sample.labels),
        start_time_unix_nano: times.start,
        time_unix_nano: times.now,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn histogram(sample: &Sample<BucketCounts>, times: Times) -> HistogramDataPoint {
    HistogramDataPoint {
        attributes: attributes(&sample.labels),
        start_time_unix_nano: times.start,
        time_unix_nano: times.now,
        count: sample.value.count(),
        sum: Some(sample.value.sum_seconds()),
        bucket_counts: sample.value.counts().to_vec(),
        explicit_bounds: bounds_in_seconds().collect(),
        ..HistogramDataPoint::default()
    }
}

fn attributes(labels: &Labels) -> Vec<KeyValue> {
    labels.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(Value::StringValue(value.to_owned())) };
    KeyValue { key: name.to_owned(), value: Some(value), ..KeyValue::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_names_values_and_times_of_the_metrics() {
        let counter = Family {
            name: "plimsoll_sent",
            unit: Unit::Bytes,
            help: "Bytes sent.",
            samples: Samples::Counter(vec![Sample::new([("part", "body".to_owned())], Number::Whole(7))]),
        };
        let mut times = measure::Distribution::default();
        times.record(20_000_000);
        let mut buckets = BucketCounts::default();
        buckets.add(&times);
        let response = Family {
            name: "plimsoll_response",
            unit: Unit::Seconds,
            help: "Response times.",
            samples: Samples::Histogram(vec![Sample::new([], buckets)]),
        };
        let bytes = encode(&[counter, response], "here", Times { start: 3, now: 5 });
        let message = ExportMetricsServiceRequest::decode(bytes.as_slice()).unwrap();
        let of_resource = &message.resource_metrics[0];
        let attributes = &of_resource.resource.as_ref().unwrap().attributes;
        assert_eq!(attributes[2], attribute("service.instance.id", "here"));
        let metrics = &of_resource.scope_metrics[0].metrics;
        let [sent, response] = metrics.as_slice() else { panic!("{metrics:?}") };
        assert_eq!((sent.name.as_str(), sent.unit.as_str()), ("plimsoll_sent_bytes", "By"));
        let Some(Data::Sum(sum)) = &sent.data else { panic!("{sent:?}") };
        assert!(sum.is_monotonic && sum.aggregation_temporality == AggregationTemporality::Cumulative as i32);
        let point = &sum.data_points[0];
        assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (3, 5));
        assert_eq!(point.value, Some(number_data_point::Value::AsInt(7)));
        assert_eq!((response.name.as_str(), response.unit.as_str()), ("plimsoll_response_seconds", "s"));
        let Some(Data::Histogram(histogram)) = &response.data else { panic!("{response:?}") };
        let point = &histogram.data_points[0];
        assert_eq!((point.count, point.sum), (1, Some(0.02)));
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
        let index = point.bucket_counts.iter().position(|count| *count == 1).unwrap();
        assert_eq!(point.explicit_bounds[index], 0.02);
    }
}
