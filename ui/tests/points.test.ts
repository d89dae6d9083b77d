import assert from "node:assert/strict";
import { test } from "node:test";
import { beyond } from "../src/axis";
import { positions, valueRange } from "../src/charts/points";
import { letter } from "../src/charts/shapes";
import { LINES } from "../src/charts/theme";
import { sharedRange } from "../src/group";
import type { Chart, Mark, PointsPlot } from "../src/report_data";

const mark = (x: number, y: number | null): Mark => ({ x, y, range: null, shape: "plain" });

const plot: PointsPlot = {
  kind: "points",
  across: { kind: "load", label: "operations in flight", unit: "count", log: true },
  unit: "time",
  log: true,
  lines: [
    { label: "a", order: 0, points: [mark(8, 0), mark(64, 5), mark(64, 7)] },
    { label: "b", order: 1, points: [{ ...mark(16, 30), range: [2, 40] }, mark(32, null)] },
  ],
  bounds: [{ label: "p99 <= 50", value: 50 }],
  brackets: [],
};

test("every position occurs once, in order", () => {
  assert.deepEqual(positions(plot), [8, 16, 32, 64]);
  assert.deepEqual(positions({ ...plot, across: { kind: "values", label: "range", names: ["1MiB", "2MiB"] } }), [0, 1]);
});

test("ranges and bounds are inside the axis, and values without a logarithm are not", () => {
  assert.deepEqual(valueRange(plot), [2, 50]);
  assert.deepEqual(valueRange({ ...plot, log: false }), [0, 50]);
  assert.equal(valueRange({ ...plot, lines: [], bounds: [] }), null);
});

test("small charts share one axis", () => {
  const chart = (high: number): Chart => ({ ...plot, id: "", title: "", caption: "", bounds: [], lines: [{ label: "", order: 0, points: [mark(1, high)] }] });
  assert.deepEqual(sharedRange({ label: "", caption: "", charts: [chart(3), chart(9), chart(4)] }), [3, 9]);
  assert.equal(sharedRange({ label: "", caption: "", charts: [] }), null);
});

test("no two of the first 36 lines look alike", () => {
  const looks = Array.from({ length: 36 }, (_, order) => `${order % LINES}${letter(order)}`);
  assert.equal(new Set(looks).size, 36);
});

test("the outermost marks have room on both sides", () => {
  for (const [low, high] of [[1, 1], [8, 1024], [100, 104]] as const) {
    for (const log of [true, false]) {
      const [from, to] = beyond(low, high, log);
      assert.ok(from < low && to > high && from >= 0, `${low} to ${high}: ${from} to ${to}`);
    }
  }
});
