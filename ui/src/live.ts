/** The charts that are on the page now. */

import type uPlot from "uplot";

const plots = new Set<uPlot>();

/** A chart that is drawn; the answer takes it away again. */
export function add(plot: uPlot): () => void {
  plots.add(plot);
  return () => {
    plots.delete(plot);
    plot.destroy();
  };
}

/** Draws all of them anew. */
export function redraw(): void {
  plots.forEach((plot) => plot.redraw(false));
}
