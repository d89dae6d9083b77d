/** Numbers for people, formatted as in the text report (crates/report/src/number.rs). */

import type { Unit } from "./report_data";

/** `1,234,567` */
export function count(value: number): string {
  return decimal(value, 0);
}

/** `1,234,567.8` */
export function decimal(value: number, decimals: number): string {
  const [whole = "", fraction] = Math.abs(value).toFixed(decimals).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return (value < 0 ? "-" : "") + grouped + (fraction === undefined ? "" : `.${fraction}`);
}

function digits(value: number, wanted: number): string {
  // Round before counting digits: 999.96 becomes 1000.0, which has four digits before the point.
  const size = Math.abs(Number(value.toPrecision(wanted)));
  const before = size >= 1 ? Math.floor(Math.log10(size)) + 1 : 1;
  return decimal(value, size === 0 ? 0 : Math.max(0, wanted - before));
}

/** Units in descending order. A value is shown in the first unit whose factor it reaches. */
type Units = readonly (readonly [string, number])[];

const TIMES: Units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
const BYTES: Units = [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]];
const THINGS: Units = [["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]];

function scaled(value: number, units: Units): [number, string] {
  // A value that rounds up to the next unit is shown in that unit.
  const fits = units.find(([, factor]) => Math.abs(value) >= factor * 0.9995) ?? units[units.length - 1];
  const [unit, factor] = fits ?? ["", 1];
  return [value / factor, unit];
}

/** `812 ns`, `8.12 µs`, `27.2 ms`, `1,234 s`, from nanoseconds. */
export function time(nanos: number): string {
  const [value, unit] = scaled(nanos, TIMES);
  return unit === "ns" ? `${decimal(value, 0)} ns` : `${digits(value, 3)} ${unit}`;
}

/** `150.38 MB` */
export function bytes(value: number): string {
  const [amount, unit] = scaled(value, BYTES);
  return `${decimal(amount, unit === "B" ? 0 : 2)} ${unit}`;
}

/** `12.34 %`, from a fraction in 0..1. Only exactly 1 is shown as 100 %, and only exactly 0 as 0 %. */
export function share(ofOne: number): string {
  const percent = ofOne * 100;
  if (percent > 99.995 && percent < 100) return "> 99.99 %";
  if (percent > 0 && percent < 0.005) return "< 0.01 %";
  return `${decimal(percent, 2)} %`;
}

/** Formats a value with its unit. */
export function shown(unit: Unit, value: number): string {
  switch (unit) {
    case "rate":
      return `${digits(value, 4)}/s`;
    case "bytes":
      return `${bytes(value)}/s`;
    case "size":
      return bytes(value);
    case "count":
      return decimal(value, Number.isInteger(value) ? 0 : 1);
    case "time":
      return time(value);
    case "share":
      return share(value);
    case "ratio":
      return `${decimal(value, 2)} ×`;
  }
}

/** Formats a value in a short form, for an axis. */
export function tick(unit: Unit, value: number): string {
  const short = (units: Units): [string, string] => {
    const [amount, name] = scaled(value, units);
    return [String(Number(amount.toPrecision(3))), name];
  };
  switch (unit) {
    case "rate":
    case "count": {
      const [amount, name] = short(THINGS);
      return amount + (name && ` ${name}`) + (unit === "rate" ? "/s" : "");
    }
    case "bytes":
      return short(BYTES).join(" ") + "/s";
    case "size":
      return short(BYTES).join(" ");
    case "time":
      return short(TIMES).join(" ");
    case "share":
      return `${Number((value * 100).toPrecision(4))} %`;
    case "ratio":
      return `${Number(value.toPrecision(3))} ×`;
  }
}

const SPANS: readonly (readonly [string, number])[] = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

/** Formats an instant of the run, given in seconds: `500 ms`, `12 s`, `1 min 30 s`, `6 h`. It has at most two units. */
export function instant(seconds: number): string {
  if (seconds <= 0) return "0 s";
  if (seconds < 1) return time(seconds * 1e9);
  if (seconds < 60) return `${Number(seconds.toFixed(seconds < 10 ? 2 : 1))} s`;
  const parts: string[] = [];
  let rest = Math.round(seconds);
  for (const [unit, length] of SPANS) {
    const amount = Math.floor(rest / length);
    rest -= amount * length;
    if (amount > 0) parts.push(`${amount} ${unit}`);
    if (parts.length > 0 && (amount === 0 || parts.length === 2)) break;
  }
  return parts.join(" ");
}

/** `p50`, `p99.9` */
export function percentile(q: number): string {
  return `p${Number((q * 100).toFixed(2))}`;
}
