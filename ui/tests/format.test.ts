import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, count, instant, percentile, share, shown, tick, time } from "../src/format";

// The same examples as in crates/report/src/number.rs, because both must give the same text.
test("numbers read as in the text report", () => {
  assert.deepEqual([0, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
  assert.deepEqual([98123.4, 999.96, 12.345, 0].map((value) => shown("rate", value)), ["98,123/s", "1,000/s", "12.35/s", "0/s"]);
  assert.deepEqual([0, 999.6, 8120, 999600].map(time), ["0 ns", "1.00 µs", "8.12 µs", "1.00 ms"]);
  assert.deepEqual([27243000, 1e9, 1.234e12].map(time), ["27.2 ms", "1.00 s", "1,234 s"]);
  assert.deepEqual([1, 0.999999, 0, 1e-9, 0.1234].map(share), ["100.00 %", "> 99.99 %", "0.00 %", "< 0.01 %", "12.34 %"]);
  assert.equal(shown("bytes", 11.16e9), "11.16 GB/s");
  assert.deepEqual([720, 150380000].map(bytes), ["720 B", "150.38 MB"]);
});

test("ticks are short", () => {
  assert.deepEqual([0, 500, 1500, 2e6].map((value) => tick("rate", value)), ["0/s", "500/s", "1.5 k/s", "2 M/s"]);
  assert.deepEqual([0, 5e7, 1.5e9].map((value) => tick("bytes", value)), ["0 B/s", "50 MB/s", "1.5 GB/s"]);
  assert.deepEqual([1e3, 2e6, 5e9].map((value) => tick("time", value)), ["1 µs", "2 ms", "5 s"]);
  assert.equal(tick("share", 0.2), "20 %");
});

test("instants have two units at most", () => {
  const texts = [0, 0.25, 1.5, 59.96, 90, 3600, 5400, 90061].map(instant);
  assert.deepEqual(texts, ["0 s", "250 ms", "1.5 s", "60 s", "1 min 30 s", "1 h", "1 h 30 min", "1 d 1 h"]);
});

test("percentiles have no noise behind the point", () => {
  assert.deepEqual([0.5, 0.99, 0.999, 0.9999, 1 - 10 ** -2].map(percentile), ["p50", "p99", "p99.9", "p99.99", "p99"]);
});
