/** Shapes of marks. Everything that a color shows is also shown by a shape, for readers who cannot see colors. */

import type { Mark } from "../report_data";
import { LINES } from "./theme";

/** A shape as a letter, for legends, and as a path, for charts. */
interface Shape {
  letter: string;
  draw: (context: CanvasRenderingContext2D, x: number, y: number, r: number) => void;
}

function polygon(corners: readonly (readonly [number, number])[]): Shape["draw"] {
  return (context, x, y, r) => {
    corners.forEach(([dx, dy], index) => {
      if (index === 0) context.moveTo(x + dx * r, y + dy * r);
      else context.lineTo(x + dx * r, y + dy * r);
    });
    context.closePath();
  };
}

const CIRCLE: Shape = { letter: "●", draw: (context, x, y, r) => context.arc(x, y, r, 0, 2 * Math.PI) };

const PLAIN: readonly Shape[] = [
  CIRCLE,
  { letter: "■", draw: polygon([[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]) },
  { letter: "▲", draw: polygon([[0, -1.1], [1.1, 0.9], [-1.1, 0.9]]) },
  { letter: "◆", draw: polygon([[0, -1.3], [1.1, 0], [0, 1.3], [-1.1, 0]]) },
  { letter: "▼", draw: polygon([[0, 1.1], [1.1, -0.9], [-1.1, -0.9]]) },
  { letter: "◀", draw: polygon([[-1.1, 0], [0.9, -1.1], [0.9, 1.1]]) },
];

/** Returns the shape of a line's plain marks. If there are more lines than colors, the colors are used again with other shapes. */
function plain(order: number): Shape {
  return PLAIN[(order + Math.floor(order / LINES)) % PLAIN.length] ?? CIRCLE;
}

/** Returns the character for a line's plain marks. */
export function letter(order: number): string {
  return plain(order).letter;
}

/** Characters for levels that met all objectives, and for levels that missed one. */
export const PASSED = "●";
export const FAILED = "✕";

/** Draws a mark in the current colors of the context. */
export function draw(context: CanvasRenderingContext2D, mark: Mark, order: number, x: number, y: number, r: number): void {
  context.beginPath();
  if (mark.shape === "failed") {
    for (const way of [1, -1]) {
      context.moveTo(x - r, y - r * way);
      context.lineTo(x + r, y + r * way);
    }
    context.stroke();
    return;
  }
  (mark.shape === "passed" ? CIRCLE : plain(order)).draw(context, x, y, r);
  context.fill();
}
