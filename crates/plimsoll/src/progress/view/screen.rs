//! The terminal of the live view: the alternate screen of standard error.

use super::draw;
use super::theme::Theme;
use crate::console::overlay;
use crate::progress::choice::terminal_size;
use crate::progress::state::State;
use ratatui::backend::{Backend, ClearType, CrosstermBackend};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The live view on the terminal. The console opens and closes it, because the console must also close it for messages
/// and panics.
pub struct Screen {
    theme: Theme,
    terminal: Option<Terminal<CrosstermBackend<Frame>>>,
    area: Rect,
    frame: Frame,
}

/// The bytes of a frame. All bytes of a frame are written at once, so that other output never appears within a frame.
#[derive(Clone, Debug, Default)]
struct Frame(Arc<Mutex<Vec<u8>>>);

impl Write for Frame {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Screen {
    /// Returns a view that is not open yet.
    pub fn new(color: bool) -> Self {
        Self { theme: Theme { color }, terminal: None, area: Rect::ZERO, frame: Frame::default() }
    }

    /// Draws the state. Opens the view if it is not open. Does nothing if the terminal cannot be used now.
    pub fn draw(&mut self, state: &State) {
        let Some(is_new) = overlay::open_view() else {
            // When the process gets the terminal back, the content of the terminal is unknown.
            self.terminal = None;
            return;
        };
        let (width, height) = terminal_size().unwrap_or_default();
        let area = Rect::new(0, 0, width, height);
        if is_new || area != self.area {
            self.terminal = None;
        }
        // Errors are ignored, because writing to memory does not fail.
        if self.terminal.is_none() {
            self.area = area;
            self.terminal = self.cleared(area).ok();
        }
        if let Some(terminal) = &mut self.terminal {
            let _ = terminal.draw(|frame| draw(state, self.theme, frame));
        }
        let bytes = std::mem::take(&mut *self.frame.0.lock().unwrap_or_else(PoisonError::into_inner));
        overlay::draw(&bytes);
    }

    /// Returns a terminal of this size whose content is erased first.
    fn cleared(&self, area: Rect) -> io::Result<Terminal<CrosstermBackend<Frame>>> {
        let mut backend = CrosstermBackend::new(self.frame.clone());
        backend.clear_region(ClearType::All)?;
        Terminal::with_options(backend, TerminalOptions { viewport: Viewport::Fixed(area) })
    }
}
