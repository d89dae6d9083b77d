import assert from "node:assert/strict";
import { test } from "node:test";
import { marksWithin } from "../src/charts/series";
import type { Times } from "../src/report_data";

test("events belong to the column in which they happened", () => {
  const marks = [0, 9.9, 10, 99].map((at) => ({ at, label: String(at) }));
  const times: Times = { starts: [0, 10, 20], end: 30, merged: 1, window: null, marks };
  assert.deepEqual(
    [0, 1, 2].map((column) => marksWithin(times, column)),
    [["0", "9.9"], ["10"], ["99"]],
  );
});
