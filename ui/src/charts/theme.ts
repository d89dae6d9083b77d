/** Colors of charts, taken from the style sheet, which has light, dark and print colors. */

import type { Role } from "../report_data";

export interface Theme {
  ink: string;
  soft: string;
  grid: string;
  shade: string;
  paper: string;
  roles: Record<Role, string>;
  /** Colors of compared lines, by their order. */
  lines: string[];
  /** Colors of a heat map, from few operations to many. */
  heat: string[];
}

/** Number of colors of a heat map. */
const HEAT_STEPS = 7;

/** Number of colors for compared lines. Further lines use the same colors with other shapes. */
export const LINES = 6;

/** Returns the current colors. */
export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: color("ink"),
    soft: color("soft"),
    grid: color("grid"),
    shade: color("shade"),
    paper: color("paper"),
    roles: {
      main: color("main"),
      secondary: color("secondary"),
      third: color("third"),
      failed: color("failed"),
      "line-0": color("line-0"),
      "line-1": color("line-1"),
      "line-2": color("line-2"),
      "line-3": color("line-3"),
      "line-4": color("line-4"),
      "line-5": color("line-5"),
    },
    lines: Array.from({ length: LINES }, (_, order) => color(`line-${order}`)),
    heat: Array.from({ length: HEAT_STEPS }, (_, step) => color(`heat-${step}`)),
  };
}

/** The current colors. They are updated when the colors of the page change. */
export const theme: { now: Theme } = { now: undefined as unknown as Theme };

/** Returns a color with an opacity. */
export function faint(color: string, share: number): string {
  const [, digits] = /^#([0-9a-f]{6})$/i.exec(color) ?? [];
  return digits ? `#${digits}${Math.round(share * 255).toString(16).padStart(2, "0")}` : color;
}
