//! A valid run whose numbers are replaced by absurd ones: the reader rejects it, or all forms of the report show it.
//!
//! Every four bytes of input change one number: two bytes select the number, one selects the kind of change, and one is
//! a small value for it. If the fuzzer changed bytes of JSON directly, the parser would reject most inputs.
#![no_main]

mod saved;

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use std::sync::LazyLock;
use store::{End, EndReason, SavedRun};

static RECORDS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let interval = |text: &str| serde_json::from_str::<Value>(text).expect("seeds are JSON");
    let end = End {
        reason: EndReason::Completed,
        at: measure::Instant::ZERO,
        server: Some(store::Server::default()),
        peak_memory_bytes: 0,
        cpu_nanos: 0,
        uploads: Some(store::Uploads::default()),
        damaged: Some(store::Damaged::default()),
        fresh_below: 0,
        probes: Some(measure::evidence::Probes::default()),
        path: None,
        fleet: Some(Box::new(saved::fleet())),
    };
    vec![
        json!({"begin": saved::begin()}),
        json!({"interval": interval(include_str!("../seeds/interval_record/good.json"))}),
        json!({"interval": interval(include_str!("../seeds/interval_record/failed.json"))}),
        json!({"end": end}),
    ]
});

fn numbers<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| numbers(value, found)),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, value)| numbers(value, found)),
        Value::Number(_) => found.push(value),
        Value::String(text) if text.parse::<u128>().is_ok() => found.push(value),
        _ => {}
    }
}

fn absurd(old: &Value, how: u8, small: u8) -> Value {
    let small = u64::from(small);
    let whole = match how % 4 {
        0 => small,
        1 => u64::MAX - small,
        2 => (1 << 63) - small,
        _ => 1 << (small % 64),
    };
    match old {
        Value::String(_) if how % 8 > 3 => Value::from((u128::MAX - u128::from(small)).to_string()),
        Value::String(_) => Value::from(whole.to_string()),
        Value::Number(number) if number.is_f64() => {
            let power = i32::from(small as u8 as i8) * 3;
            Value::from(if how % 2 == 0 { 10_f64.powi(power) } else { -(10_f64.powi(power)) })
        }
        _ => Value::from(whole),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut records = RECORDS.clone();
    let mut found = Vec::new();
    records.iter_mut().for_each(|record| numbers(record, &mut found));
    for change in bytes.chunks_exact(4) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % found.len();
        *found[place] = absurd(found[place], change[2], change[3]);
    }
    let frame = |record: &Value| zstd::bulk::compress(format!("{record}\n").as_bytes(), 1).unwrap();
    let file: Vec<u8> = records.iter().flat_map(frame).collect();
    if let Ok(run) = SavedRun::read_from(file.as_slice()) {
        saved::show(&run);
    }
});
