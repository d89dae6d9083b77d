//! Charts from characters.

use super::theme::Theme;
use crate::progress::state::history::{Percentiles, Point};
use crate::progress::state::run::Details;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Widget};
use report::number::time;

/// Characters that fill a part of a cell, from one eighth to the whole cell.
const EIGHTHS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// Minimum ratio of the largest and the smallest time on the axis of a chart, so that small differences look small.
const SPAN_MIN: f64 = 4.0;

/// Draws a column for each value. The highest column fills the area. Every value above 0 is visible.
pub fn columns(values: &[Option<f64>], style: Style, area: Rect, buffer: &mut Buffer) {
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let full = usize::from(area.height) * EIGHTHS.len();
    for (x, value) in area.columns().zip(values).filter_map(|(column, value)| Some((column.x, (*value)?))) {
        if value <= 0.0 || most <= 0.0 {
            continue;
        }
        let mut left = ((value / most * full as f64).round() as usize).clamp(1, full);
        for y in (area.top()..area.bottom()).rev() {
            if left == 0 {
                break;
            }
            let part = left.min(EIGHTHS.len());
            left -= part;
            buffer[(x, y)].set_symbol(EIGHTHS[part - 1]).set_style(style);
        }
    }
}

/// Draws the p50 and the p99 of response times over time, on a logarithmic axis.
pub fn percentiles(details: &Details, until: f64, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let series = |of: fn(Percentiles) -> f64| -> Vec<(f64, f64)> {
        let at = |point: &Point| Some(((point.start + point.end) / 2.0, of(point.percentiles?).log10()));
        details.history.points().iter().filter_map(at).collect()
    };
    let (p50, p99) = (series(|of| of.p50), series(|of| of.p99));
    let all = || p50.iter().chain(&p99).map(|(_, log)| *log);
    let (Some(low), Some(high)) = (all().reduce(f64::min), all().reduce(f64::max)) else { return };
    let missing = (SPAN_MIN.log10() - (high - low)).max(0.0);
    let bounds = [low - missing / 2.0, high + missing / 2.0];
    let label = |log: f64| Line::styled(time(10_f64.powf(log)), theme.faint());
    let chart = Chart::new(vec![dataset(&p50, theme.first()), dataset(&p99, theme.second())])
        .legend_position(None)
        .x_axis(Axis::default().bounds([0.0, until]))
        .y_axis(Axis::default().bounds(bounds).labels(bounds.map(label)).style(theme.faint()));
    chart.render(area, buffer);
}

fn dataset(data: &[(f64, f64)], style: Style) -> Dataset<'_> {
    Dataset::default().marker(Marker::Braille).graph_type(GraphType::Line).style(style).data(data)
}

/// Draws the histogram of response times. The last line of the histogram shows the range of the times, and the
/// positions of p50 and p99.
pub fn histogram(details: &Details, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let times = &details.times;
    let (Some(first), Some(last)) = (times.buckets().next(), times.buckets().next_back()) else { return };
    if area.is_empty() {
        return;
    }
    let [chart, axis] = split_last_line(area);
    let width = usize::from(chart.width);
    let (low, high) = (first.start.ln(), last.end.ln().max(first.start.ln() + SPAN_MIN.ln()));
    let place = |nanos: f64| (nanos.ln() - low) / (high - low) * width as f64;
    let mut counts = vec![0.0; width];
    for bucket in times.buckets() {
        // A bucket may be wider than a column. The operations of such a bucket are spread over its columns.
        let (from, to) = (place(bucket.start), place(bucket.end));
        for (index, count) in counts.iter_mut().enumerate().skip(from as usize) {
            let inside = (to.min(index as f64 + 1.0) - from.max(index as f64)).max(0.0);
            if index as f64 >= to {
                break;
            }
            *count += bucket.count as f64 * inside / (to - from).max(1e-9);
        }
    }
    let shown: Vec<Option<f64>> = counts.into_iter().map(Some).collect();
    columns(&shown, theme.first(), chart, buffer);
    let (start, end) = (time(first.start), time(high.exp()));
    buffer.set_stringn(axis.x, axis.y, &start, width, theme.faint());
    let end_at = width.saturating_sub(end.chars().count());
    buffer.set_stringn(axis.x + end_at as u16, axis.y, &end, width, theme.faint());
    let mut free = start.chars().count() + 1..end_at.saturating_sub(1);
    for (q, name, style) in [(0.5, "p50", theme.first()), (0.99, "p99", theme.second())] {
        let Some(nanos) = times.quantile(q) else { continue };
        let at = (place(nanos) as usize).saturating_sub(name.len() / 2);
        if free.contains(&at) && free.contains(&(at + name.len() - 1)) {
            buffer.set_stringn(axis.x + at as u16, axis.y, name, width, style);
            free.start = at + name.len() + 1;
        }
    }
}

fn split_last_line(area: Rect) -> [Rect; 2] {
    let height = area.height.saturating_sub(1);
    [Rect { height, ..area }, Rect { y: area.y + height, height: area.height.min(1), ..area }]
}
