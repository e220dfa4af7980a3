//! A client of ddblockd: locks of this host or of a fleet.
//!
//! ```no_run
//! # fn write_report(token: u64) {}
//! # fn main() -> ddblock::Result<()> {
//! let client = ddblock::Client::connect("report")?;
//! let hold = client.acquire("jobs/nightly", &[("wait", "30s".into())])?;
//! write_report(hold.token());
//! hold.release()?; // to drop it does the same, silently
//! # Ok(())
//! # }
//! ```
//!
//! One file, `std` only, Linux; copy it. It speaks ddblock-protocol(7). A hold
//! belongs to its connection: when the client is dropped or the process ends,
//! the daemon gives the lock to the next waiter. A hold that was acquired with
//! `("linger", "1m".into())` stays for so long: `client.resume()` brings it
//! back, on another connection.
//!
//! With `("resume", true.into())` in `connect_with` the client connects again
//! when the daemon ends the connection, by a restart for example, and its holds
//! go on: meanwhile each is valid until half a margin before its deadline,
//! afterwards it is either valid or lost. Requests fail meanwhile (NO_DAEMON),
//! and so do those that were under way; what they may have been granted is
//! given back. A release is done later. Events BROKEN and RESUMED tell of it. A
//! client that keeps no hold at that moment ends, and its requests fail from
//! then on: a program that lives long makes a new client when it needs one.
//!
//! Every hold has a deadline that renewals move on, and counts down by itself:
//! a daemon that is stopped or dead cannot keep `hold.is_valid()` true.
//! `hold.wait_lost()` waits for the loss, `client.next_event()` tells more.
//!
//! Arguments of a request go to the daemon unchanged: arguments of newer
//! daemons can be used without a new client, as can verbs, by
//! `client.request()`. A client may be used by several threads. A request that
//! is dropped is given up; a late grant is released.
#![allow(dead_code)] // a program rarely needs all of it
#![allow(clippy::useless_conversion, clippy::unnecessary_map_or)] // older Rust

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hasher};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::raw::{c_int, c_long};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use std::{env, fmt, thread};

/// The daemon's socket, unless $DDBLOCK_SOCKET is set.
pub const DEFAULT_SOCKET: &str = "/run/ddblockd/ddblockd.sock";
const EVENTS_MAX: usize = 1024; // unread; the oldest are dropped first
const LINE_MAX: usize = 1 << 20;
// Timers stop while the host sleeps; its boot-time clock does not.
const LOOK_MS: i64 = 1000;
// Reasons for the end of a connection after which there is no other: such as
// that another client resumed its holds.
const FINAL: [&str; 4] =
    ["LOCK_NOT_OWNED", "DENIED", "BAD_REQUEST", "PROTOCOL"];
// Between two tries to connect again: from this to that.
const PAUSE_MS: u64 = 50;
const PAUSE_MAX_MS: u64 = 1000;
const NEVER_MS: i64 = i64::MAX; // the deadline of a hold without a deadline

/// A request failed. The code is a word of the protocol; NO_DAEMON: there is no
/// connection (any more); PROTOCOL: the answer was not understood.
#[derive(Clone, Debug)]
pub struct Error {
    /// A word of the protocol, such as LOCK_BUSY.
    pub code: String,
    /// For people.
    pub text: String,
    /// All fields of the daemon's answer.
    pub fields: Fields,
}

impl Error {
    fn new(code: &str, text: impl ToString) -> Error {
        Error {
            code: code.to_string(),
            text: text.to_string(),
            fields: Fields::default(),
        }
    }

    /// The code behind it, if the daemon says so.
    pub fn cause(&self) -> Option<String> {
        self.fields.get("cause")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.text)
    }
}

impl std::error::Error for Error {}

/// What requests return.
pub type Result<T> = std::result::Result<T, Error>;

/// The named arguments of a line, of any bytes.
#[derive(Clone, Debug, Default)]
pub struct Fields(pub BTreeMap<String, Vec<u8>>);

impl Fields {
    /// As they are; None if the name is not there.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// As text; what is not UTF-8 is replaced.
    pub fn get(&self, name: &str) -> Option<String> {
        self.bytes(name)
            .map(|value| String::from_utf8_lossy(value).into_owned())
    }

    /// As a number; None if it is none.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.parse().ok()
    }
}

/// The fields of OK, the rows before it, and the hold of a grant.
#[derive(Debug)]
pub struct Reply {
    /// Those of OK.
    pub fields: Fields,
    /// For people; mostly empty.
    pub text: String,
    /// What came before it, line by line.
    pub rows: Vec<Fields>,
    /// What was granted, by ACQUIRE and TRY.
    pub hold: Option<Hold>,
}

/// An event from the daemon, such as LOCK_IN_DANGER. LOCK_LOST also comes from
/// here, with reason=expired or, when the connection ended,
/// reason=disconnected. The field `id` names the hold of the event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its word in the protocol.
    pub name: String,
    /// What the daemon says with it.
    pub fields: Fields,
}

/// The value of an argument.
#[derive(Clone, Debug)]
pub struct Value(Vec<u8>);

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Value {
        Value(bytes.to_vec())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value(text.as_bytes().to_vec())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value(text.into_bytes())
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Value {
        Value::from(if yes { "yes" } else { "no" })
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::from(number.to_string())
    }
}

impl From<Duration> for Value {
    fn from(time: Duration) -> Value {
        Value::from(format!("{}ms", time.as_millis()))
    }
}

// ---- the wire -------------------------------------------------------------

/// The clock of all deadlines: it goes on while the host sleeps.
pub fn boot_ms() -> i64 {
    #[repr(C)]
    struct Timespec {
        seconds: c_long,
        nanoseconds: c_long,
    }
    extern "C" {
        fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    }
    const CLOCK_BOOTTIME: c_int = 7;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the structure is that of 64-bit Linux.
    if unsafe { clock_gettime(CLOCK_BOOTTIME, &mut time) } != 0 {
        return i64::MAX; // without a clock no hold is valid
    }
    i64::from(time.seconds) * 1000 + i64::from(time.nanoseconds) / 1_000_000
}

/// A value in its form on the wire.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::new();
    for (place, &byte) in bytes.iter().enumerate() {
        let bare = byte.is_ascii_graphic() && byte != b'%' && byte != b'=';
        if bare && (byte != b':' || place > 0) {
            out.push(byte as char);
        } else {
            out += &format!("%{:02X}", byte);
        }
    }
    out
}

/// The bytes of a value on the wire.
pub fn decode(text: &[u8]) -> Vec<u8> {
    let digit =
        |place: usize| text.get(place).and_then(|&c| (c as char).to_digit(16));
    let mut out = Vec::with_capacity(text.len());
    let mut place = 0;
    while place < text.len() {
        match (text[place], digit(place + 1), digit(place + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high << 4 | low) as u8);
                place += 3;
            }
            (byte, _, _) => {
                out.push(byte);
                place += 1;
            }
        }
    }
    out
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A duration as the daemon writes it: 250ms, 9.5s.
fn duration_ms(text: &str) -> Option<i64> {
    if let Some(number) = text.strip_suffix("ms") {
        return number.parse().ok();
    }
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Some((seconds * 1000.0) as i64)
}

#[derive(Default)]
struct Line {
    tag: String,
    kind: String,
    word: String,
    text: String,
    fields: Fields,
}

impl Line {
    fn parse(line: &[u8]) -> Line {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut words = line.split(|&c| c == b' ').peekable();
        let mut said = Line::default();
        if words.peek().map_or(false, |word| word.starts_with(b"#")) {
            said.tag = text_of(&words.next().unwrap_or_default()[1..]);
        }
        said.kind = text_of(words.next().unwrap_or_default());
        if let Some(name) = said.kind.strip_prefix('!') {
            said.word = name.to_string();
            said.kind = "!".to_string();
        } else if said.kind == "ERR" {
            said.word = text_of(words.next().unwrap_or_default());
        }
        while let Some(word) = words.next() {
            if let Some(text) = word.strip_prefix(b":") {
                let rest: Vec<&[u8]> =
                    std::iter::once(text).chain(words).collect();
                said.text = text_of(&rest.join(&b' '));
                break;
            }
            if let Some(at) = word.iter().position(|&c| c == b'=') {
                let name = text_of(&decode(&word[..at]));
                said.fields.0.insert(name, decode(&word[at + 1..]));
            }
        }
        said
    }

    fn error(self) -> Error {
        Error { code: self.word, text: self.text, fields: self.fields }
    }
}

// ---- what a connection knows ----------------------------------------------

struct Call {
    verb: String,
    key: Vec<u8>,
    arguments: Fields,
    rows: VecDeque<Fields>,
    outcome: Option<Result<Line>>,
    is_abandoned: bool,
}

struct HoldState {
    ns: String,
    is_manual: bool, // only its own RENEW moves its deadline
    is_kept: bool,   // if the daemon ends the connection
    margin_ms: i64,
    until_ms: i64,
    end_ms: i64,            // of its max_hold
    reason: Option<String>, // of the loss
    count: i64, // how often it is held: the number of unreleased Hold values
    releasing: Vec<String>, // the tag of each RELEASE that is under way
}

impl HoldState {
    /// A deadline moves forward only, and not beyond the hold's end.
    fn extend(&mut self, fields: &Fields) {
        let until = fields.number("until_boot_ms").unwrap_or(0);
        self.until_ms = self.until_ms.max(until.min(self.end_ms));
    }

    /// The deadline; without a connection half a margin earlier.
    fn good_ms(&self, is_away: bool) -> i64 {
        self.until_ms - if is_away { self.margin_ms / 2 } else { 0 }
    }

    fn is_live(&self) -> bool {
        self.reason.is_none() && self.count > 0
    }

    /// Must its deadline be checked? Also while its release is under way.
    fn counts(&self) -> bool {
        self.is_live() || !self.releasing.is_empty()
    }
}

fn lost_error(reason: &str) -> Error {
    Error::new("LOCK_LOST", format!("the lock was lost: {}", reason))
}

/// In decimal: some formats have tokens too large for a number.
fn token_in(fields: &Fields) -> String {
    let text = fields.get("token_text").or_else(|| fields.get("token"));
    text.unwrap_or_else(|| "0".into())
}

fn is_grant(verb: &str) -> bool {
    verb == "ACQUIRE" || verb == "TRY"
}

struct State {
    serial: u64,
    line_max: usize,
    default_ns: String,
    calls: HashMap<String, Call>,
    holds: HashMap<String, HoldState>,
    secret: Option<String>,
    events: VecDeque<Event>,
    outgoing: Vec<u8>,
    rest: Vec<u8>,
    ended: Option<Error>, // for later callers
    stream: Arc<UnixStream>,
    path: String,
    greeting: Vec<(String, Value)>, // the arguments of HELLO
    resumes: bool,                  // does it connect again?
    is_away: bool,                  // until RESUME is answered
    found: HashSet<String>,         // by its rows
    pause_ms: u64,
}

impl State {
    fn start(
        &mut self,
        verb: &str,
        keys: &[Value],
        arguments: &[(&str, Value)],
    ) -> Result<String> {
        if let Some(error) = &self.ended {
            return Err(error.clone());
        }
        if self.is_away {
            let text = "the connection broke; another is tried";
            return Err(Error::new("NO_DAEMON", text));
        }
        self.send(verb, keys, arguments)
    }

    fn send(
        &mut self,
        verb: &str,
        keys: &[Value],
        arguments: &[(&str, Value)],
    ) -> Result<String> {
        self.serial += 1;
        let tag = self.serial.to_string();
        let mut line = format!("#{} {}", tag, verb);
        for key in keys {
            // It would be dropped on the way, without a word.
            if key.0.is_empty() {
                return Err(Error::new("BAD_REQUEST", "a key is empty"));
            }
            line += &format!(" {}", encode(&key.0));
        }
        let mut asked = Fields::default();
        for (name, value) in arguments {
            let name_encoded = encode(name.as_bytes());
            line += &format!(" {}={}", name_encoded, encode(&value.0));
            asked.0.insert(name.to_string(), value.0.clone());
        }
        line.push('\n');
        if line.len() > self.line_max {
            let text = "the request is longer than a line";
            return Err(Error::new("BAD_REQUEST", text));
        }
        let call = Call {
            verb: verb.to_string(),
            key: keys.first().map_or(Vec::new(), |key| key.0.clone()),
            arguments: asked,
            rows: VecDeque::new(),
            outcome: None,
            is_abandoned: false,
        };
        self.calls.insert(tag.clone(), call);
        self.outgoing.extend_from_slice(line.as_bytes());
        Ok(tag)
    }

    fn send_unheard(&mut self, verb: &str, name: &str, value: &str) {
        if self.ended.is_none() && !self.is_away {
            self.send_anyway(verb, &[(name, Value::from(value))]);
        }
    }

    fn send_anyway(&mut self, verb: &str, arguments: &[(&str, Value)]) {
        if let Ok(tag) = self.send(verb, &[], arguments) {
            if let Some(call) = self.calls.get_mut(&tag) {
                call.is_abandoned = true;
            }
        }
    }

    /// The caller does not wait any more. A grant is released.
    fn abandon(&mut self, tag: &str) {
        let call = match self.calls.get_mut(tag) {
            Some(call) if !call.is_abandoned => call,
            _ => return,
        };
        if let Some(outcome) = call.outcome.take() {
            let is_grant = is_grant(&call.verb);
            self.calls.remove(tag);
            if let (true, Ok(line)) = (is_grant, outcome) {
                let id = line.fields.get("id").unwrap_or_default();
                if let Some(hold) = self.holds.get_mut(&id) {
                    hold.count -= 1;
                }
                self.forget(&id);
                self.give_back(&id);
            }
            return;
        }
        call.is_abandoned = true;
        let cancellable = ["ACQUIRE", "TRY", "LIST", "HELD", "WAITING"];
        if cancellable.contains(&call.verb.as_str()) {
            self.send_unheard("CANCEL", "tag", tag);
        }
    }

    fn give_back(&mut self, id: &str) {
        self.send_unheard("RELEASE", "id", id);
    }

    /// Unless it is held once more, or a release is under way.
    fn forget(&mut self, id: &str) {
        let is_over =
            |hold: &HoldState| hold.count <= 0 && hold.releasing.is_empty();
        if self.holds.get(id).map_or(false, is_over) {
            self.holds.remove(id);
        }
    }

    fn feed(&mut self, data: &[u8]) {
        self.rest.extend_from_slice(data);
        let mut rest = std::mem::take(&mut self.rest);
        let mut start = 0;
        while let Some(at) = rest[start..].iter().position(|&c| c == b'\n') {
            let line = Line::parse(&rest[start..start + at]);
            start += at + 1;
            if self.ended.is_some() {
                return;
            }
            if line.kind == "!" {
                self.event(line);
            } else if self.calls.contains_key(&line.tag) {
                self.answer(line);
            } else if line.kind == "ERR"
                && line.tag.is_empty()
                && (!self.resumes || FINAL.contains(&&*line.word))
            {
                // It refuses the connection, not a request of ours.
                self.end(line.error());
            }
        }
        self.rest = rest.split_off(start);
    }

    fn answer(&mut self, line: Line) {
        let tag = line.tag.clone();
        let mut call = match self.calls.remove(&tag) {
            Some(call) => call,
            None => return,
        };
        if call.verb == "RESUME" && self.is_away {
            if line.kind == "+" {
                self.calls.insert(tag, call);
            }
            return self.reopening(&line);
        }
        if line.kind == "+" {
            if call.verb == "RESUME" {
                self.resume(&mut call, &line.fields);
            }
            if !call.is_abandoned {
                call.rows.push_back(line.fields);
            }
            self.calls.insert(tag, call);
            return;
        }
        if call.verb == "RELEASE" {
            self.released(&call, &line);
        }
        let outcome = if line.kind != "OK" {
            Err(line.error())
        } else if !is_grant(&call.verb) {
            Ok(line)
        } else if call.is_abandoned {
            let id = line.fields.get("id");
            return self.give_back(&id.unwrap_or_default());
        } else {
            self.grant(&call, line)
        };
        match (&outcome, call.verb.as_str()) {
            (Ok(line), "HELLO") => self.learn(&line.fields),
            (Ok(_), "RESUME") => self.secret = call.arguments.get("secret"),
            _ => (),
        }
        // A release may have been answered for the daemon by the deadline.
        if !call.is_abandoned {
            call.outcome.get_or_insert(outcome);
            self.calls.insert(tag, call);
        }
    }

    fn learn(&mut self, hello: &Fields) {
        if let Some(namespaces) = hello.get("namespaces") {
            let first = namespaces.split(',').next();
            self.default_ns = first.unwrap_or_default().to_string();
        }
        if let Some(size) = hello.number("line_max") {
            self.line_max = size as usize;
        }
    }

    fn grant(&mut self, call: &Call, line: Line) -> Result<Line> {
        let fields = &line.fields;
        self.secret = fields.get("secret").or_else(|| self.secret.take());
        let id = fields.get("id").unwrap_or_default();
        match self.holds.get_mut(&id) {
            Some(hold) => {
                hold.count += 1;
                hold.extend(fields);
            }
            None => self.begin(call, fields)?,
        }
        Ok(line)
    }

    /// A row of RESUME: a lock that this client holds from here on.
    fn resume(&mut self, call: &mut Call, row: &Fields) {
        let id = row.get("id").unwrap_or_default();
        if self.holds.contains_key(&id) {
            return; // one more of several locks
        }
        if let Err(error) = self.begin(call, row) {
            call.outcome.get_or_insert(Err(error));
        } else if row.bytes("state") == Some(b"lost") {
            self.lose(&id, &row.get("reason").unwrap_or_default());
        }
    }

    fn begin(&mut self, call: &Call, fields: &Fields) -> Result<()> {
        let remaining = fields.get("remaining").unwrap_or_default();
        let has_deadline = fields.bytes("until_boot_ms").is_some();
        let (id, until_ms, left_ms) = match (
            fields.get("id"),
            fields.number("until_boot_ms"),
            duration_ms(&remaining),
        ) {
            (Some(id), Some(until), Some(left)) => (id, until, left),
            (Some(id), None, _) if !has_deadline => (id, NEVER_MS, 0),
            _ => return Err(Error::new("PROTOCOL", "cannot read the grant")),
        };
        if has_deadline && until_ms - boot_ms() > left_ms + LOOK_MS {
            self.give_back(&id);
            let text = "the daemon has another boot-time clock";
            return Err(Error::new("PROTOCOL", text));
        }
        let is_resumed = call.verb == "RESUME"; // names the requested locks
        let said = if is_resumed { fields } else { &call.arguments };
        let hold = HoldState {
            ns: said.get("ns").unwrap_or_else(|| self.default_ns.clone()),
            is_manual: said.bytes("renew") == Some(b"manual"),
            is_kept: self.resumes
                && (is_resumed || fields.bytes("secret").is_some()),
            margin_ms: duration_ms(&fields.get("margin").unwrap_or_default())
                .unwrap_or(0),
            until_ms,
            end_ms: fields.number("end_boot_ms").unwrap_or(i64::MAX),
            reason: None,
            count: said.number("count").unwrap_or(1),
            releasing: Vec::new(),
        };
        self.holds.insert(id, hold);
        Ok(())
    }

    /// The daemon says how often it is still held. A release that was refused
    /// for its arguments is repeated without them.
    fn released(&mut self, call: &Call, line: &Line) {
        let id = call.arguments.get("id").unwrap_or_default();
        let hold = match self.holds.get_mut(&id) {
            Some(hold) if hold.releasing.contains(&line.tag) => hold,
            _ => return,
        };
        hold.releasing.retain(|tag| *tag != line.tag);
        if line.kind == "OK" {
            let left = line.fields.number("count").unwrap_or(0);
            hold.count = hold.count.min(left);
        } else if ["BAD_REQUEST", "UNSUPPORTED"].contains(&&*line.word) {
            self.give_back(&id);
        }
    }

    fn event(&mut self, line: Line) {
        let fields = line.fields;
        if line.word == "RENEWED" {
            let ns = fields.get("ns").unwrap_or_default();
            for (id, hold) in self.holds.iter_mut() {
                let is_known = !self.is_away || self.found.contains(id);
                if hold.ns == ns && !hold.is_manual && is_known {
                    hold.extend(&fields);
                }
            }
            return;
        }
        let id = fields.get("id").unwrap_or_default();
        if line.word == "LOCK_LOST" {
            let reason = fields.get("reason");
            self.lose(&id, &reason.unwrap_or_else(|| "unknown".to_string()));
            return;
        }
        if let Some(hold) = self.holds.get_mut(&id) {
            hold.extend(&fields);
        }
        self.tell(Event { name: line.word, fields });
    }

    fn tell(&mut self, event: Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// The hold is lost: once, and for ever.
    fn lose(&mut self, id: &str, reason: &str) {
        let hold = match self.holds.get_mut(id) {
            Some(hold) if hold.counts() => hold,
            _ => return,
        };
        hold.reason = Some(reason.to_string());
        // The daemon is stopped; its lock is free by now nevertheless.
        for tag in hold.releasing.drain(..) {
            if let Some(call) = self.calls.get_mut(&tag) {
                call.outcome.get_or_insert(Err(lost_error(reason)));
            }
        }
        if hold.count <= 0 {
            return;
        }
        let mut fields = Fields::default();
        for (name, value) in [("id", id), ("reason", reason)] {
            fields.0.insert(name.to_string(), value.as_bytes().to_vec());
        }
        self.tell(Event { name: "LOCK_LOST".to_string(), fields });
    }

    /// How long not to look at the deadlines.
    fn wait(&self) -> Option<Duration> {
        let holds = self.holds.values().filter(|hold| hold.counts());
        let first = holds.map(|hold| hold.good_ms(self.is_away)).min()?;
        let wait_ms = (first - boot_ms()).clamp(1, LOOK_MS);
        Some(Duration::from_millis(wait_ms as u64))
    }

    /// Called when all input was read: it may be a renewal.
    fn judge(&mut self) {
        let now = boot_ms();
        let over = |(id, hold): (&String, &HoldState)| {
            (now >= hold.good_ms(self.is_away)).then(|| id.clone())
        };
        let ids: Vec<String> = self.holds.iter().filter_map(over).collect();
        let reason = if self.is_away { "disconnected" } else { "expired" };
        for id in ids {
            self.lose(&id, reason);
        }
        if self.is_away && !self.holds.values().any(HoldState::is_live) {
            self.end(Error::new("NO_DAEMON", "the connection broke"));
        }
    }

    /// The connection broke. True: another is tried, for what the daemon keeps.
    fn part(&mut self, error: Error) -> bool {
        if self.ended.is_some() {
            return false;
        }
        self.rest.clear();
        self.outgoing.clear();
        self.calls.retain(|_, call| !call.is_abandoned);
        for call in self.calls.values_mut() {
            call.outcome.get_or_insert(Err(error.clone()));
        }
        let ids: Vec<String> = self.holds.keys().cloned().collect();
        for id in ids {
            let is_kept = match self.holds.get_mut(&id) {
                Some(hold) => {
                    hold.releasing.clear();
                    hold.is_kept
                }
                None => continue,
            };
            if !is_kept {
                self.lose(&id, "disconnected");
            }
        }
        if !self.holds.values().any(HoldState::is_live) {
            self.end(error);
            return false;
        }
        if !self.is_away {
            self.is_away = true;
            self.tell_of("BROKEN");
        }
        true
    }

    fn tell_of(&mut self, name: &str) {
        let fields = Fields::default();
        self.tell(Event { name: name.to_string(), fields });
    }

    fn next_pause(&mut self) -> Duration {
        let pause_ms = self.pause_ms;
        self.pause_ms = (2 * pause_ms).clamp(PAUSE_MS, PAUSE_MAX_MS);
        let dice = RandomState::new().build_hasher().finish() % 1024;
        Duration::from_millis(pause_ms / 2 + pause_ms * dice / 1024)
    }

    /// The first requests of another connection.
    fn reopen(&mut self, stream: Arc<UnixStream>) {
        self.stream = stream;
        self.found.clear();
        let greeting = self.greeting.clone();
        let hello: Vec<(&str, Value)> = (greeting.iter())
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        let secret = self.secret.clone().unwrap_or_default();
        self.send_anyway("HELLO", &hello);
        self.send_anyway("HELLO", &[("resume", true.into())]);
        self.send_anyway("RESUME", &[("secret", secret.as_str().into())]);
    }

    /// A row of the answer to that RESUME, or its end.
    fn reopening(&mut self, line: &Line) {
        if line.kind == "+" {
            return self.find(&line.fields);
        }
        if line.word == "SHUTTING_DOWN" {
            return; // its end follows, and then another try
        }
        if line.kind != "OK" {
            let text = "the daemon does not know the holds";
            return self.end(Error::new("NO_DAEMON", text));
        }
        let ids: Vec<String> = self.holds.keys().cloned().collect();
        for id in ids {
            if !self.found.contains(&id) {
                self.lose(&id, "disconnected");
            }
        }
        self.is_away = false;
        self.pause_ms = 0;
        self.tell_of("RESUMED");
    }

    /// Ours again, or to be given back.
    fn find(&mut self, row: &Fields) {
        let id = row.get("id").unwrap_or_default();
        if !self.found.insert(id.clone()) {
            return;
        }
        let mut known = 0;
        if let Some(hold) = self.holds.get_mut(&id).filter(|h| h.is_live()) {
            known = hold.count;
            if let Some(until_ms) = row.number("until_boot_ms") {
                hold.until_ms = until_ms;
            }
        }
        for _ in known..row.number("count").unwrap_or(1) {
            self.send_anyway("RELEASE", &[("id", id.as_str().into())]);
        }
        if row.bytes("state") == Some(b"lost") {
            self.lose(&id, &row.get("reason").unwrap_or_default());
        }
    }

    /// The connection is over, and with it all holds.
    fn end(&mut self, error: Error) {
        if self.ended.is_some() {
            return;
        }
        for call in self.calls.values_mut() {
            call.outcome.get_or_insert(Err(error.clone()));
        }
        self.ended = Some(error);
        let ids: Vec<String> = self.holds.keys().cloned().collect();
        for id in ids {
            self.lose(&id, "disconnected");
        }
    }
}

// ---- clients --------------------------------------------------------------

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} calls, {} holds", self.calls.len(), self.holds.len())
    }
}

impl Shared {
    /// The state. A thread that panicked with it left it whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(|e| e.into_inner())
    }

    fn start(
        self: &Arc<Shared>,
        verb: &str,
        keys: &[Value],
        arguments: &[(&str, Value)],
    ) -> Result<Pending> {
        let tag = self.lock().start(verb, keys, arguments)?;
        self.changed.notify_all();
        Ok(Pending { shared: self.clone(), tag })
    }

    fn end(&self, text: String) {
        let mut state = self.lock();
        state.end(Error::new("NO_DAEMON", text));
        self.changed.notify_all();
        // It may have ended by itself.
        let _ = state.stream.shutdown(Shutdown::Both);
    }

    /// The connection broke: the next one, if there is to be one.
    fn connect_again(
        self: &Arc<Shared>,
        text: String,
    ) -> Option<Arc<UnixStream>> {
        let mut state = self.lock();
        let mut goes_on = state.part(Error::new("NO_DAEMON", text));
        while goes_on {
            self.changed.notify_all();
            let pause = state.next_pause();
            let waited = self.changed.wait_timeout(state, pause);
            state = waited.unwrap_or_else(|e| e.into_inner()).0;
            state.judge();
            goes_on = state.ended.is_none();
            let stream = UnixStream::connect(&state.path).map(Arc::new);
            if let (true, Ok(stream)) = (goes_on, stream) {
                state.reopen(stream.clone());
                let (writer, next) = (self.clone(), stream.clone());
                thread::spawn(move || writer.write(next));
                self.changed.notify_all(); // the old writer ends
                return Some(stream);
            }
        }
        self.changed.notify_all();
        None
    }

    fn read(self: Arc<Shared>) {
        let mut buffer = vec![0; 1 << 16];
        let mut stream = self.lock().stream.clone();
        loop {
            let wait = self.lock().wait();
            let read = stream
                .set_read_timeout(wait)
                .and_then(|()| (&*stream).read(&mut buffer));
            let broken = match read {
                Ok(0) => "the daemon ended the connection".to_string(),
                Ok(count) => {
                    self.lock().feed(&buffer[..count]);
                    String::new()
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.lock().judge();
                    String::new()
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => String::new(),
                Err(e) => format!("the connection ended: {}", e),
            };
            self.changed.notify_all();
            if broken.is_empty() {
                continue;
            }
            let _ = stream.shutdown(Shutdown::Both);
            match self.connect_again(broken) {
                Some(next) => stream = next,
                None => return,
            }
        }
    }

    /// In a thread of its own, so that a daemon that does not read blocks no
    /// caller.
    fn write(&self, stream: Arc<UnixStream>) {
        let mut state = self.lock();
        while state.ended.is_none() && Arc::ptr_eq(&state.stream, &stream) {
            if state.outgoing.is_empty() {
                state = self.wait(state);
                continue;
            }
            let out = std::mem::take(&mut state.outgoing);
            drop(state);
            if (&*stream).write_all(&out).is_err() {
                return; // the reader finds it, too, with the reason
            }
            state = self.lock();
        }
    }
}

/// A connection to the daemon. Dropping it closes it.
#[derive(Debug)]
pub struct Client {
    shared: Arc<Shared>,
    hello: Fields,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.close();
    }
}

impl Client {
    /// A connection to `$DDBLOCK_SOCKET`, or else to the default path.
    pub fn connect(name: &str) -> Result<Client> {
        Client::connect_with(None, &[("name", name.into())])
    }

    /// A connection; the arguments are those of HELLO. With `resume` among
    /// them, if it is true, it is opened again (above).
    pub fn connect_with(
        path: Option<&str>,
        arguments: &[(&str, Value)],
    ) -> Result<Client> {
        let from_environment = env::var("DDBLOCK_SOCKET").ok();
        let path = path
            .map(str::to_string)
            .or_else(|| from_environment.filter(|path| !path.is_empty()))
            .unwrap_or_else(|| DEFAULT_SOCKET.to_string());
        let stream = UnixStream::connect(&path).map_err(|e| {
            let text = format!("cannot connect to {}: {}", path, e);
            Error::new("NO_DAEMON", text)
        })?;
        let stream = Arc::new(stream);
        let mut all: Vec<(String, Value)> = vec![
            ("proto".to_string(), "1".into()),
            ("renewed".to_string(), true.into()),
        ];
        let others = arguments.iter().filter(|(name, _)| *name != "resume");
        all.extend(others.map(|(n, v)| (n.to_string(), v.clone())));
        let state = State {
            serial: 0,
            line_max: LINE_MAX,
            default_ns: "default".to_string(),
            calls: HashMap::new(),
            holds: HashMap::new(),
            secret: None,
            events: VecDeque::new(),
            outgoing: Vec::new(),
            rest: Vec::new(),
            ended: None,
            stream: stream.clone(),
            path,
            greeting: all.clone(),
            resumes: false,
            is_away: false,
            found: HashSet::new(),
            pause_ms: 0,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let (reader, writer) = (shared.clone(), shared.clone());
        thread::spawn(move || reader.read());
        thread::spawn(move || writer.write(stream));
        let mut client = Client { shared, hello: Fields::default() };
        let hello: Vec<(&str, Value)> =
            all.iter().map(|(n, v)| (n.as_str(), v.clone())).collect();
        client.hello = client.request("HELLO", &[], &hello)?.fields;
        let mut resume = arguments.iter().filter(|(name, _)| *name == "resume");
        if resume.any(|(_, value)| value.0 == b"yes") {
            let mut state = client.shared.lock();
            state.resumes = true;
            // An older daemon refuses that, and keeps what lingers.
            state.send_unheard("HELLO", "resume", "yes");
            drop(state);
            client.shared.changed.notify_all();
        }
        Ok(client)
    }

    /// The daemon's answer to HELLO.
    pub fn hello(&self) -> &Fields {
        &self.hello
    }

    /// The secret that resumes lingering holds, also after the end.
    pub fn secret(&self) -> Option<String> {
        self.shared.lock().secret.clone()
    }

    /// End the connection. The daemon releases all holds that do not linger.
    pub fn close(&self) {
        let mut state = self.shared.lock();
        for hold in state.holds.values_mut() {
            hold.count = 0;
            hold.releasing.clear();
        }
        drop(state);
        self.shared.end("the client was closed".to_string());
    }

    /// Send a request and go on. Any number may be under way.
    pub fn start(
        &self,
        verb: &str,
        keys: &[Value],
        arguments: &[(&str, Value)],
    ) -> Result<Pending> {
        self.shared.start(verb, keys, arguments)
    }

    /// Send a request and wait for its reply.
    pub fn request(
        &self,
        verb: &str,
        keys: &[Value],
        arguments: &[(&str, Value)],
    ) -> Result<Reply> {
        self.start(verb, keys, arguments)?.wait()
    }

    /// The lock, as soon as it is free (`("wait", "5s".into())`: at most).
    pub fn acquire(
        &self,
        key: impl Into<Value>,
        arguments: &[(&str, Value)],
    ) -> Result<Hold> {
        self.start("ACQUIRE", &[key.into()], arguments)?.wait_hold()
    }

    /// The lock if it is free; else the error is LOCK_BUSY.
    ///
    /// Of all hosts, one runs a job, once a day:
    ///
    /// ```no_run
    /// # fn run_it() {}
    /// # fn main() -> ddblock::Result<()> {
    /// # let client = ddblock::Client::connect("nightly")?;
    /// match client.try_acquire("jobs/nightly", &[("every", "23h".into())]) {
    ///     Ok(_hold) => run_it(),
    ///     Err(e) if e.code == "NOT_DUE" || e.code == "LOCK_BUSY" => (),
    ///     Err(e) => return Err(e),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_acquire(
        &self,
        key: impl Into<Value>,
        arguments: &[(&str, Value)],
    ) -> Result<Hold> {
        self.start("TRY", &[key.into()], arguments)?.wait_hold()
    }

    /// Several locks as one, all or none.
    pub fn acquire_all(
        &self,
        keys: &[Value],
        arguments: &[(&str, Value)],
    ) -> Result<Hold> {
        self.start("ACQUIRE", keys, arguments)?.wait_hold()
    }

    /// Several locks as one, if all are free.
    pub fn try_acquire_all(
        &self,
        keys: &[Value],
        arguments: &[(&str, Value)],
    ) -> Result<Hold> {
        self.start("TRY", keys, arguments)?.wait_hold()
    }

    /// Resume the lingering holds of another client by its secret, before the
    /// first acquire here: a Hold for each time that a lock is held. Holds that
    /// were lost meanwhile are among them. To give this up, close the client,
    /// and they linger again.
    pub fn resume(&self, secret: &str) -> Result<Vec<Hold>> {
        let arguments = [("secret", secret.into())];
        let reply = self.request("RESUME", &[], &arguments)?;
        let mut holds: Vec<Hold> = Vec::new();
        for row in reply.rows {
            let id = row.get("id").unwrap_or_default();
            let key = row.get("key").unwrap_or_default();
            let mut count = row.number("count").unwrap_or(1);
            for hold in holds.iter_mut().filter(|hold| hold.id == id) {
                hold.tokens.insert(key.clone(), token_in(&row));
                count = 0; // one more of several locks
            }
            for _ in 0..count {
                let tokens = BTreeMap::from([(key.clone(), token_in(&row))]);
                let shared = self.shared.clone();
                holds.push(Hold::new(shared, key.clone(), tokens, &row));
            }
        }
        Ok(holds)
    }

    /// The holder of the lock.
    pub fn get(
        &self,
        key: impl Into<Value>,
        arguments: &[(&str, Value)],
    ) -> Result<Fields> {
        Ok(self.request("GET", &[key.into()], arguments)?.fields)
    }

    /// The same, and from now on an event CHANGED at each change.
    pub fn watch(
        &self,
        key: impl Into<Value>,
        arguments: &[(&str, Value)],
    ) -> Result<Fields> {
        Ok(self.request("WATCH", &[key.into()], arguments)?.fields)
    }

    /// No more events CHANGED of this lock.
    pub fn unwatch(
        &self,
        key: impl Into<Value>,
        arguments: &[(&str, Value)],
    ) -> Result<()> {
        self.request("UNWATCH", &[key.into()], arguments).map(|_| ())
    }

    /// For administrators: take the lock from its holder, if the holder has
    /// this token, or, with token 0, if the record still is the `record` of
    /// `get`.
    pub fn break_lock(
        &self,
        key: impl Into<Value>,
        token: u64,
        reason: &str,
        arguments: &[(&str, Value)],
    ) -> Result<Fields> {
        let mut all = vec![("reason", reason.into())];
        if token != 0 {
            all.push(("token", token.into()));
        }
        all.extend_from_slice(arguments);
        Ok(self.request("BREAK", &[key.into()], &all)?.fields)
    }

    /// A row for each namespace.
    pub fn status(&self) -> Result<Reply> {
        self.request("STATUS", &[], &[])
    }

    /// The locks in the store.
    pub fn list(&self, arguments: &[(&str, Value)]) -> Result<Rows> {
        self.start("LIST", &[], arguments).map(Rows)
    }

    /// The holds of this daemon's clients.
    pub fn held(&self, arguments: &[(&str, Value)]) -> Result<Rows> {
        self.start("HELD", &[], arguments).map(Rows)
    }

    /// The locks that they wait for.
    pub fn waiting(&self, arguments: &[(&str, Value)]) -> Result<Rows> {
        self.start("WAITING", &[], arguments).map(Rows)
    }

    /// The daemon's next event; None: none in that time, or the end.
    pub fn next_event(&self, timeout: Duration) -> Option<Event> {
        let end = Instant::now().checked_add(timeout); // None: never
        let mut state = self.shared.lock();
        while state.events.is_empty() && state.ended.is_none() {
            let end = match end {
                Some(end) => end,
                None => {
                    state = self.shared.wait(state);
                    continue;
                }
            };
            let left = end.checked_duration_since(Instant::now())?;
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(|e| e.into_inner()).0;
        }
        state.events.pop_front()
    }
}

/// A request under way. Dropping it gives it up.
#[derive(Debug)]
pub struct Pending {
    shared: Arc<Shared>,
    tag: String,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.shared.lock().abandon(&self.tag);
        self.shared.changed.notify_all();
    }
}

impl Pending {
    /// By which CANCEL and events mean it.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// Wait for the reply.
    pub fn wait(self) -> Result<Reply> {
        let mut state = self.shared.lock();
        loop {
            let call = state.calls.get_mut(&self.tag);
            if call.map_or(true, |call| call.outcome.is_some()) {
                break;
            }
            state = self.shared.wait(state);
        }
        let mut call = match state.calls.remove(&self.tag) {
            Some(call) => call,
            None => return Err(Error::new("PROTOCOL", "no such request")),
        };
        drop(state);
        let none = || Err(Error::new("PROTOCOL", "no outcome"));
        let line = call.outcome.take().unwrap_or_else(none)?;
        let key = text_of(&call.key);
        let mut tokens: BTreeMap<String, String> = (call.rows.iter())
            .map(|row| (row.get("key").unwrap_or_default(), token_in(row)))
            .collect();
        if tokens.is_empty() {
            tokens.insert(key.clone(), token_in(&line.fields));
        }
        let hold = is_grant(&call.verb)
            .then(|| Hold::new(self.shared.clone(), key, tokens, &line.fields));
        Ok(Reply {
            fields: line.fields,
            text: line.text,
            rows: call.rows.into(),
            hold,
        })
    }

    /// The same for ACQUIRE and TRY.
    pub fn wait_hold(self) -> Result<Hold> {
        let none = || Error::new("PROTOCOL", "that grants nothing");
        self.wait()?.hold.ok_or_else(none)
    }

    /// Give it up: it fails with CANCELLED, unless it was late.
    pub fn cancel(&self) -> Result<bool> {
        let arguments = [("tag", Value::from(self.tag.as_str()))];
        let reply = self.shared.start("CANCEL", &[], &arguments)?.wait()?;
        Ok(reply.fields.bytes("cancelled") == Some(b"yes"))
    }
}

/// Rows of a listing, as they come. Dropping it early cancels the listing.
#[derive(Debug)]
pub struct Rows(Pending);

impl Iterator for Rows {
    type Item = Result<Fields>;

    fn next(&mut self) -> Option<Result<Fields>> {
        let shared = self.0.shared.clone();
        let mut state = shared.lock();
        loop {
            let call = state.calls.get_mut(&self.0.tag)?;
            if let Some(row) = call.rows.pop_front() {
                return Some(Ok(row));
            }
            if let Some(outcome) = call.outcome.take() {
                state.calls.remove(&self.0.tag);
                return outcome.err().map(Err);
            }
            state = shared.wait(state);
        }
    }
}

/// A lock that a client holds; if it holds a lock more than once, there is a
/// Hold for each time. Dropping it releases it.
#[derive(Debug)]
pub struct Hold {
    shared: Arc<Shared>,
    key: String,
    tokens: BTreeMap<String, String>,
    id: String,
    fields: Fields,
    is_released: bool,
}

impl Drop for Hold {
    fn drop(&mut self) {
        // An error of the release is dropped here; release() returns it.
        let _ = self.release_once(&[]);
        self.shared.lock().forget(&self.id);
    }
}

impl Hold {
    fn new(
        shared: Arc<Shared>,
        key: String,
        tokens: BTreeMap<String, String>,
        fields: &Fields,
    ) -> Hold {
        let id = fields.get("id").unwrap_or_default();
        let fields = fields.clone();
        Hold { shared, key, tokens, id, fields, is_released: false }
    }

    /// The key; of several, the first.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The name of this hold, by which requests mean it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The fencing token; of several locks, that of the first.
    pub fn token(&self) -> u64 {
        self.token_of(&self.key)
    }

    /// The token of one lock of several; 0: the key is not among them.
    pub fn token_of(&self, key: &str) -> u64 {
        let token = self.token_text_of(key).parse().unwrap_or(0);
        if token < 1 << 53 { token } else { 0 }
    }

    /// The token in decimal: in some formats of older clients there are tokens
    /// of 2^53 and more, and `token` is 0.
    pub fn token_text(&self) -> &str {
        self.token_text_of(&self.key)
    }

    /// The same for one lock of several.
    pub fn token_text_of(&self, key: &str) -> &str {
        self.tokens.get(key).map_or("0", String::as_str)
    }

    /// All fields of the grant.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// How often it is held: once, if it is not reentrant.
    pub fn count(&self) -> i64 {
        let state = self.shared.lock();
        state.holds.get(&self.id).map_or(0, |hold| hold.count)
    }

    /// May the guarded resource be used? True only before the deadline.
    pub fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// Time to the deadline, unless a renewal moves it on.
    pub fn remaining(&self) -> Duration {
        let state = self.shared.lock();
        match state.holds.get(&self.id) {
            Some(hold) if hold.is_live() => {
                let good_ms = hold.good_ms(state.is_away);
                let left_ms = (good_ms - boot_ms()).max(0);
                Duration::from_millis(left_ms as u64)
            }
            _ => Duration::ZERO,
        }
    }

    /// The deadline, in milliseconds of CLOCK_BOOTTIME.
    pub fn until_boot_ms(&self) -> i64 {
        let state = self.shared.lock();
        state.holds.get(&self.id).map_or(0, |hold| hold.until_ms)
    }

    /// The reason of the loss; None if it was not lost.
    pub fn reason(&self) -> Option<String> {
        self.shared.lock().holds.get(&self.id)?.reason.clone()
    }

    /// Wait until it is lost, and say why; None: it was released.
    pub fn wait_lost(&self) -> Option<String> {
        let mut state = self.shared.lock();
        loop {
            let hold = state.holds.get(&self.id)?;
            if !hold.is_live() {
                return hold.reason.clone();
            }
            state = self.shared.wait(state);
        }
    }

    /// Renew it now: a proof that the store answers.
    pub fn renew(&self) -> Result<()> {
        self.renew_with(&[])
    }

    /// The same with other arguments.
    pub fn renew_with(&self, arguments: &[(&str, Value)]) -> Result<()> {
        let arguments = self.with_id(arguments);
        let reply = self.shared.start("RENEW", &[], &arguments)?.wait()?;
        if let Some(hold) = self.shared.lock().holds.get_mut(&self.id) {
            hold.extend(&reply.fields);
        }
        Ok(())
    }

    /// Release it. The error is LOCK_LOST if it was lost before. It waits no
    /// longer than the hold's deadline.
    pub fn release(mut self) -> Result<()> {
        self.release_once(&[])
    }

    /// The same with other arguments.
    pub fn release_with(mut self, arguments: &[(&str, Value)]) -> Result<()> {
        self.release_once(arguments)
    }

    fn with_id<'a>(
        &self,
        arguments: &[(&'a str, Value)],
    ) -> Vec<(&'a str, Value)> {
        let mut all = vec![("id", Value::from(self.id.as_str()))];
        all.extend_from_slice(arguments);
        all
    }

    fn release_once(&mut self, arguments: &[(&str, Value)]) -> Result<()> {
        let mut state = self.shared.lock();
        let is_away = state.is_away;
        let hold = match state.holds.get_mut(&self.id) {
            Some(hold) if hold.count > 0 && !self.is_released => hold,
            _ => return Ok(()),
        };
        if let Some(reason) = hold.reason.clone() {
            hold.count -= 1;
            self.is_released = true;
            state.give_back(&self.id);
            self.shared.changed.notify_all();
            return Err(lost_error(&reason));
        }
        if is_away {
            hold.count -= 1; // it is given back when it is found
            self.is_released = true;
            state.forget(&self.id);
            return Ok(());
        }
        let tag = state.start("RELEASE", &[], &self.with_id(arguments))?;
        self.is_released = true;
        if let Some(hold) = state.holds.get_mut(&self.id) {
            hold.count -= 1;
            hold.releasing.push(tag.clone());
        }
        drop(state);
        self.shared.changed.notify_all();
        Pending { shared: self.shared.clone(), tag }.wait().map(|_| ())
    }
}
