/** Colours of charts, as the style sheet has them: light, dark, or print. */

import type { Role } from "../model";

export interface Theme {
  ink: string;
  soft: string;
  grid: string;
  shade: string;
  paper: string;
  roles: Record<Role, string>;
  /** Of lines beside each other, by their order. */
  lines: string[];
  /** Few to many. */
  heat: string[];
}

/** Rows of the heat map's scale. */
const HEAT_STEPS = 7;

/** Colours of lines beside each other; further lines have the first ones again, with other shapes. */
export const LINES = 6;

/** The colours in use now. */
export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: color("ink"),
    soft: color("soft"),
    grid: color("grid"),
    shade: color("shade"),
    paper: color("paper"),
    roles: { main: color("main"), beside: color("beside"), third: color("third"), failed: color("failed") },
    lines: Array.from({ length: LINES }, (_, order) => color(`line-${order}`)),
    heat: Array.from({ length: HEAT_STEPS }, (_, step) => color(`heat-${step}`)),
  };
}

/** One colour for all charts at once, read anew when the page's colours change. */
export const theme: { now: Theme } = { now: undefined as unknown as Theme };

/** A colour with less of it. */
export function faint(color: string, share: number): string {
  const [, digits] = /^#([0-9a-f]{6})$/i.exec(color) ?? [];
  return digits ? `#${digits}${Math.round(share * 255).toString(16).padStart(2, "0")}` : color;
}
