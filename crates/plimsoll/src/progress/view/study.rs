//! The live view of a study.

use super::panels::{checks, gauge, header, latest_messages, message_lines, outcomes, panel, progress_line, shortened};
use super::run::{charts, texts};
use super::theme::Theme;
use super::{is_tall, is_wide, line, messages_max};
use crate::progress::live_line::span;
use crate::progress::state::study::{Cell, TrialStatus};
use crate::progress::state::{Run, State, Study};
use measure::ResultWord;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Row, Table};
use report::escape::escape;

/// Maximum width of the names of cells, in characters.
const NAME_MAX: u16 = 40;
/// Space between two columns, in characters.
const SPACING: u16 = 2;

/// Draws the whole view.
pub fn draw(state: &State, study: &Study, theme: Theme, frame: &mut Frame<'_>) {
    let messages = message_lines(state, messages_max(frame.area()));
    let (cells, is_tall) = (study.cells.len() as u16, is_tall(frame.area()));
    let rows = [
        Constraint::Length(1),
        Constraint::Length(1),
        // A short matrix leaves its space to the charts.
        Constraint::Max((cells + 3).max(5)),
        Constraint::Length(1),
        Constraint::Min(if is_tall { 10 } else { 6 }),
        Constraint::Length(if is_tall { 8 } else { 4 }),
        Constraint::Length(messages),
    ];
    let [title, progress, matrix, trial, upper, lower, below] = Layout::vertical(rows).areas(frame.area());
    let (done, all) = study.done();
    header(frame, title, theme, &escape(&study.name), &format!("study · {} so far", span(state.elapsed)));
    let left = study.left.map(|left| format!(" · about {} left", span(left))).unwrap_or_default();
    let part = (all > 0).then(|| done as f64 / all as f64);
    progress_line(frame, progress, theme, "trials", part, &format!("{done} of {all} done{left}"));
    cells_table(frame, matrix, theme, study);
    running(frame, trial, theme, state, study);
    if let Some(run) = &state.run {
        charts(frame, upper, theme, run);
        below_charts(frame, lower, theme, run);
    }
    latest_messages(frame, below, state);
}

/// Draws the responses and the objectives of the current run. If there is space for only one of the two, draws the
/// responses if operations failed, and the objectives otherwise.
fn below_charts(frame: &mut Frame<'_>, area: Rect, theme: Theme, run: &Run) {
    if is_wide(frame.area()) || area.height >= 8 {
        texts(frame, area, theme, run);
    } else if run.failures > 0 {
        outcomes(frame, area, theme, run);
    } else {
        checks(frame, area, theme, run);
    }
}

/// Draws the trial that runs at the moment.
fn running(frame: &mut Frame<'_>, area: Rect, theme: Theme, state: &State, study: &Study) {
    let Some((row, trial)) = study.running() else { return };
    let name = format!("{}, {}", escape(&study.cells[row].name), escape(&study.targets[trial.target]));
    let [left, right] = Layout::horizontal([Constraint::Max(NAME_MAX), Constraint::Fill(1)]).areas(area);
    super::panels::one_line(frame, left, &Text::styled(format!("▶ {name} "), theme.running()));
    match (&state.line, &state.run) {
        (Some(search), run) => line::step(frame, right, theme, search, run.as_ref()),
        (None, Some(run)) => gauge(frame, right, theme, "", run),
        (None, None) => {}
    }
}

/// Draws the matrix: a row for each cell, and a column for each target.
fn cells_table(frame: &mut Frame<'_>, area: Rect, theme: Theme, study: &Study) {
    let legend = Text::styled("· left  ▶ running  ✓ done", theme.faint());
    let inner = panel(frame, area, theme, Text::raw("cells"), legend);
    let room = usize::from(inner.height.saturating_sub(1));
    let next = || study.cells.iter().position(|cell| cell.trials.iter().any(|trial| trial.status == TrialStatus::Left));
    let center = study.running().map(|(row, _)| row).or_else(next).unwrap_or(0);
    let first = center.saturating_sub(room / 2).min(study.cells.len().saturating_sub(room));
    let longest = study.cells.iter().map(|cell| escape(&cell.name).chars().count()).max().unwrap_or(0);
    let name = u16::try_from(longest).unwrap_or(u16::MAX).clamp(4, NAME_MAX.min(inner.width / 3));
    let targets = study.targets.len() as u16;
    let width = inner.width.saturating_sub(name + SPACING * targets) / targets.max(1);
    let rows = study.cells.iter().skip(first).take(room).map(|cell| {
        let marks = (0..study.targets.len()).map(|target| trials(cell, target, width.into(), theme));
        Row::new(std::iter::once(Text::raw(shortened(&escape(&cell.name), name.into()))).chain(marks))
    });
    let columns = std::iter::once(Constraint::Length(name)).chain(study.targets.iter().map(|_| Constraint::Fill(1)));
    let titles = std::iter::once(String::new()).chain(study.targets.iter().map(|name| escape(name)));
    let head = Row::new(titles.collect::<Vec<_>>()).style(theme.faint());
    frame.render_widget(Table::new(rows, columns).header(head).column_spacing(SPACING), inner);
}

/// Returns the trials of a cell with a target: a mark for each, the combined result, and the last result in words. A text
/// that is wider than `width` ends with `…`.
fn trials(cell: &Cell, target: usize, width: usize, theme: Theme) -> Text<'static> {
    let own = || cell.trials.iter().filter(|trial| trial.target == target);
    let mark = |status: &TrialStatus| match status {
        TrialStatus::Left => Span::styled("·", theme.faint()),
        TrialStatus::Running => Span::styled("▶", theme.running()),
        TrialStatus::DoneEarlier => Span::styled("✓", theme.faint()),
        TrialStatus::Done(result) => Span::styled("✓", theme.of_result(result.word)),
    };
    let mut spans: Vec<Span<'_>> = own().map(|trial| mark(&trial.status)).collect();
    let results = || {
        own().filter_map(|trial| match &trial.status {
            TrialStatus::Done(result) => Some(result),
            TrialStatus::Left | TrialStatus::Running | TrialStatus::DoneEarlier => None,
        })
    };
    if let Some(last) = results().next_back() {
        let word = ResultWord::of_all(results().map(|result| result.word));
        spans.push(Span::styled(format!(" {}", word.text()), theme.of_result(word)));
        // The first line of some reports starts with the result, which the line already contains.
        let text = escape(&last.text);
        let text =
            text.strip_prefix(last.word.text()).map_or(text.as_str(), |rest| rest.trim_start_matches([' ', '·']));
        let used: usize = spans.iter().map(Span::width).sum();
        let room = width.saturating_sub(used + 1);
        let is_cut = text.chars().count() > room;
        let shown: String = text.chars().take(room.saturating_sub(usize::from(is_cut))).collect();
        spans.push(Span::raw(format!(" {shown}{}", if is_cut { "…" } else { "" })));
    }
    Text::from(spans)
}
