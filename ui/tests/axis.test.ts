import assert from "node:assert/strict";
import { test } from "node:test";
import { decades, logTicks, position, quantileAt, top } from "../src/axis";
import { apart } from "../src/charts/plot";
import { step } from "../src/charts/heat";
import { bounds, extremes } from "../src/charts/series";

test("each nine takes as much room as the one before", () => {
  for (const [q, wanted] of [[0, 0], [0.9, 1], [0.99, 2], [0.999, 3], [0.9999, 4]] as const) {
    assert.ok(Math.abs(position(q) - wanted) < 1e-9);
    assert.ok(Math.abs(quantileAt(position(q)) - q) < 1e-9);
  }
});

test("the top of an axis lies above every value, and not far", () => {
  for (let most = 1e-6; most < 1e12; most *= 1.37) {
    assert.ok(top(most) >= most && top(most) <= most * 1.6, `${most}: ${top(most)}`);
  }
  assert.deepEqual([0, -1, NaN].map(top), [1, 1, 1]);
});

test("a logarithmic axis holds its values and has ticks", () => {
  for (let low = 100; low < 1e12; low *= 3.7) {
    for (const factor of [1, 1.01, 7, 5000, 1e7]) {
      const [from, to] = decades(low, low * factor);
      assert.ok(from <= low * 1.001 && to >= low * factor * 0.999 && from < to, `${low} x ${factor}: ${from} ${to}`);
      assert.ok(logTicks(from, to).length >= 2, `${low} x ${factor}`);
    }
  }
});

test("one response in a million has a color, and none has none", () => {
  assert.equal(step(0, 1e6), -1);
  assert.equal(step(1, 1e6), 0);
  assert.equal(step(1e6, 1e6), 6);
  assert.equal(step(1, 1), 6);
});

test("a summary includes the extremes of the band", () => {
  const line = { label: "", role: "main" as const, values: [3, null], low: [1, null], high: [9, null] };
  assert.deepEqual(extremes(line), [1, 9]);
  assert.equal(extremes({ ...line, values: [null], low: [], high: [] }), null);
});

test("a column reaches to the next one, and the last to the end", () => {
  assert.deepEqual(bounds({ starts: [0, 1, 2.5], end: 3, merged: 1, window: null, marks: [] }), [0, 1, 1, 2.5, 2.5, 3]);
});

test("ticks that would touch are left out, and those of the tail are kept", () => {
  assert.deepEqual(apart([0, 20, 80, 160], ["p0", "p50", "p90", "p99"]), ["", "p50", "p90", "p99"]);
  assert.deepEqual(apart([0, 90, 180], ["p0", "p50", "p90"]), ["p0", "p50", "p90"]);
});
