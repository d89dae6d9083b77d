//! Progress as the user sees it. Commands and runs report to a [`Progress`], which updates the state and draws it.

use super::choice::View;
use super::live_line;
use super::state::{Run, State};
use super::view::Screen;
use crate::console::overlay;
use engine::plan::StopAfter;
use measure::{Instant, Interval};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{self, Duration};
use store::Begin;

/// The live view appears only if the work takes longer than this.
const PATIENCE: Duration = Duration::from_millis(500);
/// Minimum time between two frames of the live view.
const FRAME_MIN: Duration = Duration::from_millis(250);
/// Time after which the live view is drawn again even if only the time has changed. The intervals of a run arrive every
/// second, with a delay of some ticks. If this time were shorter, each interval would lead to two frames.
const FRAME_MAX: Duration = Duration::from_millis(1150);
/// Maximum number of messages in the state.
const MESSAGES_MAX: usize = 20;

/// Progress of a command. Clones show the same progress. Without a terminal, nothing is shown and nothing is kept.
#[derive(Clone, Default)]
pub struct Progress {
    shown: Option<Arc<Mutex<Shown>>>,
    /// `true` for progress that does not show the results of runs.
    aside: bool,
}

/// The state, and the place where it is drawn.
struct Shown {
    state: State,
    surface: Surface,
    started: time::Instant,
}

enum Surface {
    Line,
    View(Box<Frames>),
}

/// The frames of the live view.
struct Frames {
    screen: Screen,
    /// Time of the last frame.
    drawn: Option<time::Instant>,
    /// `true` if the state has changed since the last frame.
    changed: bool,
    /// Number of messages in the last frame.
    messages: u64,
    /// Number of interrupts before the last frame.
    interrupts: usize,
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("is_shown", &self.shown.is_some()).finish_non_exhaustive()
    }
}

impl Progress {
    /// Returns progress that is shown in the given way, or in the nearest way that the terminal allows.
    pub fn new(view: View) -> Self {
        let surface = match view.possible() {
            View::None => return Self::default(),
            View::Line => Surface::Line,
            View::Full => Surface::View(Box::new(Frames {
                screen: Screen::new(std::env::var_os("NO_COLOR").is_none()),
                drawn: None,
                changed: true,
                messages: 0,
                interrupts: 0,
            })),
        };
        let shown = Shown { state: State::default(), surface, started: time::Instant::now() };
        Self { shown: Some(Arc::new(Mutex::new(shown))), aside: false }
    }

    /// Returns the same progress for auxiliary runs, whose results are not shown.
    pub fn aside(&self) -> Self {
        Self { shown: self.shown.clone(), aside: true }
    }

    /// Updates the state. The new state is drawn with the next frame.
    pub fn update(&self, change: impl FnOnce(&mut State)) {
        let Some(shown) = &self.shown else { return };
        let shown = &mut *lock(shown);
        change(&mut shown.state);
        if let Surface::View(frames) = &mut shown.surface {
            frames.changed = true;
        }
    }

    /// Like [`Self::update`], but draws the live view at once.
    pub fn show(&self, change: impl FnOnce(&mut State)) {
        self.update(change);
        self.refresh();
    }

    /// Notes the start of a run. If there are several runs, `number` contains the number of this run and the number of
    /// all runs.
    pub fn run_starts(&self, begin: &Begin, stop: StopAfter, number: Option<(u64, u64)>) {
        let Some(shown) = self.shown.as_ref().filter(|_| !self.aside) else { return };
        let with_details = matches!(lock(shown).surface, Surface::View(_));
        let mut run = Run::new(begin, stop, with_details);
        run.number = number;
        self.update(|state| state.run = Some(run));
    }

    /// Shows the results of an interval, which must not contain secrets.
    pub fn interval(&self, interval: &Interval) {
        if self.shown.is_none() || self.aside {
            return;
        }
        self.update(|state| state.run.iter_mut().for_each(|run| run.add(interval)));
        if interval.seconds() > 0.2 {
            self.show_line();
        }
    }

    /// Draws the live view if a frame is due. `now` is the time on the clock of the current run. Call this function
    /// about every 50 ms.
    pub fn tick(&self, now: Instant) {
        let Some(shown) = &self.shown else { return };
        let shown = &mut *lock(shown);
        if let Some(run) = shown.state.run.as_mut().filter(|_| !self.aside) {
            run.set_now(now);
        }
        shown.draw_view();
    }

    /// Draws the live view if a frame is due, during work without a run. Call this function about every 50 ms.
    pub fn refresh(&self) {
        if let Some(shown) = &self.shown {
            lock(shown).draw_view();
        }
    }

    /// Draws the live line. Call this function about once per second.
    pub fn show_line(&self) {
        let Some(shown) = &self.shown else { return };
        let shown = lock(shown);
        if matches!(shown.surface, Surface::Line)
            && let Some(text) = live_line::text(&shown.state)
        {
            live_line::write(&text);
        }
    }

    /// Erases the live line, at the end of a run.
    pub fn run_ends(&self) {
        if self.shown.is_some() {
            overlay::erase_line();
        }
    }
}

/// Locks the state. Even if another thread has panicked, its state can still be shown.
fn lock(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shown {
    /// Draws the live view, if there is one and it is due.
    fn draw_view(&mut self) {
        let Surface::View(frames) = &mut self.surface else { return };
        let elapsed = self.started.elapsed();
        if !frames.is_due(elapsed) {
            return;
        }
        (frames.changed, frames.drawn) = (false, Some(time::Instant::now()));
        self.state.elapsed = elapsed;
        self.state.messages = overlay::latest_messages(MESSAGES_MAX);
        frames.screen.draw(&self.state);
    }
}

impl Frames {
    fn is_due(&mut self, elapsed: Duration) -> bool {
        let since = self.drawn.map_or(elapsed, |drawn| drawn.elapsed());
        if elapsed < PATIENCE || (self.drawn.is_some() && since < FRAME_MIN) {
            return false;
        }
        let (messages, interrupts) = (overlay::messages_held(), sys::signals::interrupts().count);
        self.changed |= (messages, interrupts) != (self.messages, self.interrupts);
        (self.messages, self.interrupts) = (messages, interrupts);
        self.changed || self.drawn.is_none() || since >= FRAME_MAX
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        // If this progress was never drawn, an open view belongs to other progress, so do not close that view.
        if matches!(&self.surface, Surface::View(frames) if frames.drawn.is_some()) {
            overlay::remove();
        }
    }
}
