//! Output that is drawn over the usual output on the terminal: a live line, or a live view on the alternate screen.
//!
//! The overlay belongs to the whole process, because messages come from all of its parts. A message erases the live
//! line before it is written. While the view is open, messages are held, and the view shows the latest ones. Once the
//! view is closed, the held messages follow on the usual screen.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of held messages. A search or a study of usual size has fewer.
const HELD_MAX: usize = 1000;
/// Goes to the start of the line, and erases it.
const ERASE_LINE: &str = "\r\x1b[K";
/// Switches to the alternate screen, and hides the cursor.
const OPEN: &str = "\x1b[?1049h\x1b[?25l";
/// Ends colors, shows the cursor, and switches back to the usual screen with its earlier content.
const CLOSE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";
/// Asks the terminal to show the following output all at once. Terminals that do not support this ignore it.
const BEGIN_FRAME: &str = "\x1b[?2026h";
const END_FRAME: &str = "\x1b[?2026l";

static OVERLAY: Mutex<Overlay> =
    Mutex::new(Overlay { shown: Shown::Nothing, held: VecDeque::new(), received: 0, left_out: 0, closed: false });

/// The overlay of the process.
struct Overlay {
    shown: Shown,
    /// Messages since the view was opened.
    held: VecDeque<String>,
    /// Number of messages that were ever held.
    received: u64,
    /// Number of held messages that were dropped because there were too many.
    left_out: u64,
    /// `true` if no view may be opened any more.
    closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Nothing,
    /// The cursor is on a live line.
    Line,
    /// The view is open.
    View,
}

fn overlay() -> MutexGuard<'static, Overlay> {
    OVERLAY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Overlay {
    /// Erases the live line, or closes the view.
    fn remove(&mut self) {
        match std::mem::replace(&mut self.shown, Shown::Nothing) {
            Shown::Nothing => {}
            Shown::Line => write(ERASE_LINE.as_bytes()),
            Shown::View => self.close_view(),
        }
    }

    fn close_view(&mut self) {
        sys::terminal::end_use();
        let mut text = String::new();
        if self.left_out > 0 {
            text.push_str(&format!("({} earlier messages are left out)\n", self.left_out));
        }
        for message in self.held.drain(..) {
            text.push_str(&message);
            text.push('\n');
        }
        self.left_out = 0;
        write(text.as_bytes());
    }

    /// Writes a message in place of a live line.
    fn write_message(&mut self, text: &str) {
        self.remove();
        write(format!("{text}\n").as_bytes());
    }

    fn hold(&mut self, text: &str) {
        self.received += 1;
        self.held.push_back(text.to_owned());
        if self.held.len() > HELD_MAX {
            self.held.pop_front();
            self.left_out += 1;
        }
    }
}

/// Writes to standard error. Ignores failures, because the program must continue if its terminal is gone.
fn write(bytes: &[u8]) {
    let mut stream = io::stderr().lock();
    let _ = stream.write_all(bytes).and_then(|()| stream.flush());
}

/// Writes a message to standard error, or holds it while a view is open.
pub fn message(text: &str) {
    let mut overlay = overlay();
    if overlay.shown == Shown::View {
        overlay.hold(text);
    } else {
        overlay.write_message(text);
    }
}

/// Writes a message about the progress, unless a view is open, which shows the progress itself.
pub fn progress_message(text: &str) {
    let mut overlay = overlay();
    if overlay.shown != Shown::View {
        overlay.write_message(text);
    }
}

/// Replaces the live line by this text, which must be shorter than a line of the terminal. Does nothing while a view is
/// open.
pub fn rewrite_line(text: &str) {
    let mut overlay = overlay();
    if overlay.shown != Shown::View {
        overlay.shown = Shown::Line;
        write(format!("{ERASE_LINE}{text}").as_bytes());
    }
}

/// Erases the live line. Does nothing while a view is open.
pub fn erase_line() {
    let mut overlay = overlay();
    if overlay.shown == Shown::Line {
        overlay.remove();
    }
}

/// Erases the live line or closes the view, so that other output can follow.
pub fn remove() {
    overlay().remove();
}

/// Like [`remove`], for a process that is about to end. A view cannot be opened again.
pub fn remove_forever() {
    // Restore the terminal before locking the overlay, so that this works even after a panic in this module.
    sys::terminal::end_use();
    let mut overlay = overlay();
    overlay.closed = true;
    overlay.remove();
}

/// Opens a view. Returns `Some(true)` if the view was just opened, so that it must be drawn completely, and
/// `Some(false)` if it was open already. Returns `None` if the view cannot be drawn now, because the process is in the
/// background or about to end.
pub fn open_view() -> Option<bool> {
    let mut overlay = overlay();
    if overlay.closed || !sys::terminal::is_in_foreground(io::stderr().as_fd()) {
        return None;
    }
    if overlay.shown == Shown::View && sys::terminal::is_used() {
        return Some(false);
    }
    if overlay.shown == Shown::Line {
        overlay.remove();
    }
    // Typed characters would scroll the view, so they are not shown.
    sys::terminal::begin_use(io::stderr().as_fd(), CLOSE.as_bytes()).ok()?;
    write(OPEN.as_bytes());
    overlay.shown = Shown::View;
    Some(true)
}

/// Writes a frame of the view. Does nothing if the view was closed in the meantime.
pub fn draw(frame: &[u8]) {
    let overlay = overlay();
    if overlay.shown == Shown::View && sys::terminal::is_used() {
        write(&[BEGIN_FRAME.as_bytes(), frame, END_FRAME.as_bytes()].concat());
    }
}

/// Returns the number of messages that were ever held.
pub fn messages_held() -> u64 {
    overlay().received
}

/// Returns the latest held messages, the newest one last.
pub fn latest_messages(most: usize) -> Vec<String> {
    let overlay = overlay();
    overlay.held.iter().skip(overlay.held.len().saturating_sub(most)).cloned().collect()
}
