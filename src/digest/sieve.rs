//! The one pass over the bytes. A log that fits into the room is kept whole. Of a larger one windows around candidate lines are kept,
//! the weightier the rather; the lines in between are counted without being looked at.

use super::{
    candidate::{self, Familiar},
    clean::{LINE_CAP, after_overwriting, within_cap},
};
use memchr::{memchr, memchr_iter, memrchr};

/// Bytes of log kept in front of the unread part: the context of a candidate reaches back this far.
const HISTORY: usize = 32 * 1024;
/// Bytes read between two clean-ups of the buffer: large enough to make the copying of the history cheap.
const BLOCK: usize = 512 * 1024;
/// Lines and bytes kept before a candidate, and after it.
const BEFORE: (usize, usize) = (14, 3 * 1024);
const AFTER: (usize, usize) = (45, 8 * 1024);
/// Lines and bytes kept after anything as long as the room lasts.
const EVERYTHING: (usize, usize) = (usize::MAX, usize::MAX);
/// Bytes after which a window is followed by a new one, so that a log kept whole can be thinned out in parts.
const WINDOW: usize = 16 * 1024;
/// Weight of a window that ends in the failure of a step; above every other.
const FAILED: f32 = 20.0;
/// Bytes of windows kept at most; above it the windows with the least worth are dropped down to half.
const KEPT: usize = 6 * 1024 * 1024;

/// Consecutive lines of the log, kept for ranking.
pub(super) struct Window {
    /// 1-based number of the first line.
    pub first: u64,
    /// The lines, each ended by LF.
    pub bytes: Vec<u8>,
    /// Lines in `bytes`.
    pub lines: u64,
    /// Highest weight of a candidate inside; decides what is dropped first.
    pub weight: f32,
}

impl Window {
    fn end(&self) -> u64 {
        self.first + self.lines
    }
}

/// The pass itself; `push` may be called with any split of the log.
pub(super) struct Sieve {
    buffer: Vec<u8>,
    /// Start of the first unread byte in `buffer`.
    unread: usize,
    /// 1-based number of the line that starts at `unread`.
    number: u64,
    /// Lines and bytes still to be added to the last window.
    open: (usize, usize),
    windows: Vec<Window>,
    kept: usize,
    /// Whether everything is still kept.
    whole: bool,
    familiar: Familiar,
    /// Bytes of the current block read so far.
    filled: usize,
}

impl Sieve {
    pub(super) fn new() -> Self {
        Self {
            buffer: Vec::with_capacity(HISTORY + 2 * BLOCK),
            unread: 0,
            number: 1,
            open: EVERYTHING,
            windows: vec![Window { first: 1, bytes: Vec::new(), lines: 0, weight: 0.0 }],
            kept: 0,
            whole: true,
            familiar: Familiar::new(),
            filled: 0,
        }
    }

    /// Reads on; `read` is called once for every candidate line, in order, with its number and its raw bytes, and says
    /// whether the line reports the failure of a step. Blocks are counted from the start of the log, so that any split of it gives
    /// the same.
    pub(super) fn push(&mut self, mut chunk: &[u8], read: &mut impl FnMut(u64, &[u8]) -> bool) {
        while !chunk.is_empty() {
            let (part, rest) = chunk.split_at(chunk.len().min(BLOCK - self.filled));
            self.buffer.extend_from_slice(part);
            self.filled += part.len();
            chunk = rest;
            if self.filled == BLOCK {
                self.filled = 0;
                self.block(read);
            }
        }
    }

    /// Scans the whole lines of a full block, then forgets what is older than the history.
    fn block(&mut self, read: &mut impl FnMut(u64, &[u8]) -> bool) {
        match memrchr(b'\n', &self.buffer[self.unread..]) {
            Some(last) => self.scan(self.unread + last + 1, read),
            None => self.shorten_unended(),
        }
        if self.unread > HISTORY {
            let oldest = self.unread - HISTORY;
            let newline = memchr(b'\n', &self.buffer[oldest..self.unread]);
            let cut = newline.map_or(self.unread, |at| oldest + at + 1);
            self.buffer.drain(..cut);
            self.unread -= cut;
        }
    }

    /// Of a line without an end nobody will see more than is shown of it so far; what follows a carriage return takes its place.
    fn shorten_unended(&mut self) {
        let line = &self.buffer[self.unread..];
        let shown = after_overwriting(line);
        let goes_back = shown.as_ptr_range().end != line.as_ptr_range().end;
        let mut left = shown[..shown.len().min(LINE_CAP)].to_vec();
        left.extend(goes_back.then_some(b'\r'));
        self.buffer.truncate(self.unread);
        self.buffer.append(&mut left);
    }

    /// Reads what is left and gives the windows, in the order of the log, and the number of lines.
    pub(super) fn finish(mut self, read: &mut impl FnMut(u64, &[u8]) -> bool) -> (Vec<Window>, u64) {
        let ended = self.buffer.last().is_none_or(|b| *b == b'\n');
        if !ended {
            self.buffer.push(b'\n');
        }
        self.scan(self.buffer.len(), read);
        let lines = self.number - 1;
        self.keep_tail();
        (self.windows, lines)
    }

    fn scan(&mut self, end: usize, read: &mut impl FnMut(u64, &[u8]) -> bool) {
        let buffer = std::mem::take(&mut self.buffer);
        let mut from = self.unread;
        while let Some((line, weight)) = candidate::next(&buffer[..end], from) {
            self.pass(&buffer, from, line.start);
            let failed = read(self.number, &buffer[line.clone()]);
            let weight = weight * self.familiar.factor(&buffer[line.clone()]);
            let stop = line.end + 1;
            self.keep(&buffer, line.start, stop, weight, failed);
            self.number += 1;
            from = stop;
        }
        self.pass(&buffer, from, end);
        self.unread = end;
        self.buffer = buffer;
        if self.kept > KEPT {
            self.thin_out();
        }
    }

    /// Lines between two candidates: the first of them still belong to the open window.
    fn pass(&mut self, buffer: &[u8], from: usize, to: usize) {
        let mut at = from;
        while at < to && self.open.0 > 0 && self.open.1 > 0 {
            let stop = memchr(b'\n', &buffer[at..to]).map_or(to, |n| at + n + 1);
            self.pass_within(buffer, at, stop);
            self.number += 1;
            at = stop;
        }
        if at < to {
            self.open = (0, 0);
            self.number += memchr_iter(b'\n', &buffer[at..to]).count() as u64;
        }
    }

    /// One line that is no candidate, added to the open window when there is one.
    fn pass_within(&mut self, buffer: &[u8], start: usize, stop: usize) {
        if self.open.0 == 0 || self.open.1 == 0 {
            return;
        }
        self.open = (self.open.0 - 1, self.open.1.saturating_sub(stop - start));
        self.start_anew(self.number);
        if let Some(window) = self.windows.last_mut() {
            self.kept += add_line(window, &buffer[start..stop]);
        }
    }

    fn keep(&mut self, buffer: &[u8], start: usize, stop: usize, weight: f32, failed: bool) {
        let limit = if failed { (usize::MAX, HISTORY) } else { BEFORE };
        self.reach_back(buffer, start, limit);
        if let Some(window) = self.windows.last_mut() {
            self.kept += add_line(window, &buffer[start..stop]);
            window.weight = window.weight.max(if failed { FAILED } else { weight });
        }
        self.open = if self.whole { EVERYTHING } else { AFTER };
    }

    /// Makes the last window one that ends just before `start`, with up to `limit` lines and bytes of context that it has not yet.
    fn reach_back(&mut self, buffer: &[u8], start: usize, limit: (usize, usize)) {
        let known = self.windows.last().map_or(1, Window::end);
        let wanted = usize::try_from(self.number - known).unwrap_or(usize::MAX).min(limit.0);
        let mut begin = start;
        let mut lines = 0;
        while lines < wanted && begin > 0 {
            let previous = memrchr(b'\n', &buffer[..begin - 1]).map_or(0, |at| at + 1);
            if start - previous > limit.1 {
                break;
            }
            begin = previous;
            lines += 1;
        }
        let first = self.number - lines as u64;
        if first > known {
            self.windows.push(Window { first, bytes: Vec::new(), lines: 0, weight: 0.0 });
        }
        self.start_anew(first);
        if let Some(window) = self.windows.last_mut() {
            for line in buffer[begin..start].split_inclusive(|b| *b == b'\n') {
                self.kept += add_line(window, line);
            }
        }
    }

    /// Follows a full window by a new one.
    fn start_anew(&mut self, first: u64) {
        if self.windows.last().is_none_or(|w| w.bytes.len() > WINDOW) {
            self.windows.push(Window { first, bytes: Vec::new(), lines: 0, weight: 0.0 });
        }
    }

    /// The end of the log is always kept: where nothing is recognised it says most.
    fn keep_tail(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.reach_back(&buffer, buffer.len(), (usize::MAX, HISTORY));
        self.buffer = buffer;
    }

    /// Drops the least worthy windows until half of the room is free; the newest stays, it may still be open.
    fn thin_out(&mut self) {
        self.whole = false;
        self.open = self.open.min(AFTER);
        let Some(newest) = self.windows.pop() else { return };
        let mut order: Vec<usize> = (0..self.windows.len()).collect();
        order.sort_by(|a, b| self.windows[*b].weight.total_cmp(&self.windows[*a].weight).then(b.cmp(a)));
        let mut room = KEPT / 2;
        let mut stays = vec![false; self.windows.len()];
        for index in order {
            let size = self.windows[index].bytes.len();
            if size <= room {
                room -= size;
                stays[index] = true;
            }
        }
        let mut index = 0;
        self.windows.retain(|_| {
            index += 1;
            stays[index - 1]
        });
        self.windows.push(newest);
        self.kept = self.windows.iter().map(|w| w.bytes.len()).sum();
    }
}

/// Adds a line (with its LF), what is looked at of it; gives the bytes added.
fn add_line(window: &mut Window, line: &[u8]) -> usize {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let cut = within_cap(line);
    window.bytes.extend_from_slice(cut);
    window.bytes.push(b'\n');
    window.lines += 1;
    cut.len() + 1
}
