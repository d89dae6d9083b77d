/** Ranges and ticks of axes. */

/** Possible distances between ticks of the time axis, in seconds. */
export const TIME_STEPS: number[] = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800,
  21600, 43200, 86400, 172800, 432000, 864000, 1728000,
];

/** Percentiles that have a tick on the percentile axis. */
export const PERCENTILE_TICKS: readonly number[] = [0, 0.5, 0.9, 0.99, 0.999, 0.9999];

/** Returns the position of a quantile on the percentile axis. The distance from p90 to p99 equals the distance from p99 to p99.9. */
export function position(q: number): number {
  return -Math.log10(1 - q);
}

/** Returns the quantile at a position on the percentile axis. */
export function quantileAt(x: number): number {
  return 1 - 10 ** -x;
}

/** Returns the top of an axis that begins at 0: a round number above `most`, with steps of 1, 2 or 5 times a power of ten. */
export function top(most: number): number {
  if (!(most > 0)) return 1;
  const step = 10 ** Math.floor(Math.log10(most / 4));
  const nice = [1, 2, 5, 10].find((factor) => factor * step * 5 >= most) ?? 10;
  return Math.ceil((most / (nice * step)) * 1.02) * nice * step;
}

/** Returns the ends of a logarithmic axis: 1, 2 or 5 times a power of ten, just outside the values. */
export function decades(low: number, high: number): [number, number] {
  const steps = (value: number) => [1, 2, 5, 10].map((factor) => factor * 10 ** Math.floor(Math.log10(value)));
  const down = steps(low).filter((step) => step <= low * 1.0001).pop() ?? low;
  const up = steps(high).find((step) => step >= high * 0.9999) ?? high;
  return down < up ? [down, up] : [down / 2, up * 2];
}

/** Returns the ticks of a logarithmic axis: 1, 2 and 5 of each decade if the range is short, otherwise one per decade. */
export function logTicks(low: number, high: number): number[] {
  const factors = high / low <= 2000 ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high * 1.0001; decade *= 10) {
    for (const factor of factors) {
      const tick = decade * factor;
      if (tick >= low * 0.9999 && tick <= high * 1.0001) ticks.push(tick);
    }
  }
  return ticks;
}

/** Returns the ends of an axis that leaves some space around the outermost points. */
export function beyond(low: number, high: number, log: boolean): [number, number] {
  if (log) {
    const room = Math.max(1.05, (high / low) ** 0.04);
    return [low / room, high * room];
  }
  const room = Math.max((high - low) * 0.04, high * 0.01);
  return [Math.max(0, low - room), high + room];
}
