/** Colors of charts from the style sheet: light, dark, or print. */

import type { Role } from "../model";

export interface Theme {
  ink: string;
  soft: string;
  grid: string;
  shade: string;
  paper: string;
  roles: Record<Role, string>;
  /** Colors of lines in comparison, by their order. */
  lines: string[];
  /** Colors of counts, from few to many. */
  heat: string[];
}

/** Rows of the heat map's scale. */
const HEAT_STEPS = 7;

/** Number of line colors. Further lines repeat them with other shapes. */
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
    roles: { main: color("main"), secondary: color("secondary"), third: color("third"), failed: color("failed") },
    lines: Array.from({ length: LINES }, (_, order) => color(`line-${order}`)),
    heat: Array.from({ length: HEAT_STEPS }, (_, step) => color(`heat-${step}`)),
  };
}

/** The current colors, updated when the colors of the page change. */
export const theme: { now: Theme } = { now: undefined as unknown as Theme };

/** Returns a color with opacity. */
export function faint(color: string, share: number): string {
  const [, digits] = /^#([0-9a-f]{6})$/i.exec(color) ?? [];
  return digits ? `#${digits}${Math.round(share * 255).toString(16).padStart(2, "0")}` : color;
}
