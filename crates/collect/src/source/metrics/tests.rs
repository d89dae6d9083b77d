use super::*;
use measure::series::{Column, ColumnKind, ColumnUnit};
use proptest::prelude::*;

const PAGE: &str = r#"# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"} 3 1395066363000
http_requests_total{method="get",code="200",} 10.5

# Escaping in label values:
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1.458255915e9
metric_without_timestamp_and_labels 12.47
big 340282366920938463463374607431768211455
something_weird{problem="division by zero"} +Inf -3982045
rpc_duration_seconds{quantile="0.5"} NaN
foo_bucket{le="0.1"} 8 # {trace_id="abc"} 0.67
{"name.in.quotes",a="b"} 1
# EOF
"#;

fn picked(name: &str, selectors: &[&str]) -> Picked<Vec<Selector>> {
    let column = Column::new(name, ColumnKind::Gauge, ColumnUnit::Count).unwrap();
    let pick = selectors.iter().map(|selector| selector.parse().unwrap()).collect();
    Picked { column, pick, required: true }
}

fn of_page(selectors: &[&str]) -> Option<String> {
    let (values, _) = values(PAGE.as_bytes(), &[picked("x", selectors)]).unwrap();
    values[0].as_ref().map(ToString::to_string)
}

#[test]
fn the_example_page_is_read() {
    for (selector, expected) in [
        ("http_requests_total", Some("1040.5")),
        (r#"http_requests_total{method="post"}"#, Some("1030")),
        (r#"http_requests_total{ method = "post", code != "200" }"#, Some("3")),
        (r#"http_requests_total{code="200",gone=""}"#, Some("1037.5")),
        (r#"http_requests_total{gone!=""}"#, None),
        (r#"msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT"}"#, Some("1.458255915e9")),
        (r#"msdos_file_access_time_seconds{error="Cannot find file:\n\"FILE.TXT\""}"#, Some("1.458255915e9")),
        ("metric_without_timestamp_and_labels", Some("12.47")),
        ("big", Some("340282366920938463463374607431768211455")),
        ("something_weird", None),
        ("rpc_duration_seconds", None),
        (r#"foo_bucket{le="0.1"}"#, Some("8")),
        ("http_requests", None),
    ] {
        assert_eq!(of_page(&[selector]).as_deref(), expected, "{selector}");
    }
}

#[test]
fn the_first_selector_with_a_series_decides() {
    assert_eq!(of_page(&["gone_total", "big", "http_requests_total"]).as_deref(), of_page(&["big"]).as_deref());
    let two = [picked("a", &["gone", "big"]), picked("b", &["metric_without_timestamp_and_labels"])];
    let (found, failure) = values(PAGE.as_bytes(), &two).unwrap();
    assert_eq!((found[1].as_ref().map(Number::as_str), failure), (Some("12.47"), None));
}

#[test]
fn nonsense_is_named_and_the_rest_is_read() {
    let picks = [picked("x", &["up"])];
    let failure = values(b"<html><body>not found</body></html>\n", &picks).unwrap_err();
    assert_eq!(failure.class, FailureClass::NotUnderstood);
    assert_eq!(failure.detail, "line 1 is not in the format of Prometheus");
    for page in ["up 1\nup{a=\"1} 5\n", "up 1\nup{a} 2", "up 1\nup one", "up 1\nup"] {
        let (found, failure) = values(page.as_bytes(), &picks).unwrap();
        assert_eq!(found[0].as_ref().map(Number::as_str), Some("1"), "{page}");
        assert_eq!(failure.unwrap().detail, "line 2 is not in the format of Prometheus", "{page}");
    }
    let (_, failure) = values(b"", &picks).unwrap();
    assert_eq!(failure.unwrap().class, FailureClass::Missing);
}

#[test]
fn texts_that_are_no_selector_are_refused() {
    for text in ["", "1a", "a b", "a{", "a{b}", "a{b=c}", "a{b=\"c\"} 1", "a{b=\"c\" d=\"e\"}", "$.a", "a{b=~\"c\"}"] {
        assert_eq!(text.parse::<Selector>(), Err(SelectorError), "{text}");
    }
}

proptest! {
    #[test]
    fn no_page_panics(page in "[a-c{}=\"\\\\, 0-9.#\nNé+]{0,80}", selector in "[a-c]{1,2}(\\{a!?=\"[a-c]\"\\})?") {
        let picks = [picked("x", &[&selector])];
        let _ = values(page.as_bytes(), &picks);
    }

    #[test]
    fn any_label_value_survives_its_escapes(value in "[a\"\\\\\nné,}= ]{0,12}") {
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let page = format!("m{{a=\"{escaped}\"}} 5\nm{{a=\"other value\"}} 7\n");
        let (found, failure) = values(page.as_bytes(), &[picked("x", &[&format!("m{{a=\"{escaped}\"}}")])]).unwrap();
        prop_assert_eq!((found[0].as_ref().map(Number::as_str), failure), (Some("5"), None));
    }
}
