/** The charts that are currently on the page. */

import type uPlot from "uplot";

const plots = new Set<uPlot>();

/** Adds a chart. Returns a function that removes it. */
export function add(plot: uPlot): () => void {
  plots.add(plot);
  return () => {
    plots.delete(plot);
    plot.destroy();
  };
}

/** Redraws all charts. */
export function redraw(): void {
  plots.forEach((plot) => plot.redraw(false));
}
