//! The driver of the Rust client: see test_clients.py.
use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use ddblock::{decode, encode, Client, Fields, Hold, Pending, Reply, Value};

// The file itself, as a program has it that copied it; or else the crate.
#[cfg(not(feature = "crate"))]
#[path = "../../contrib/clients/rust/ddblock.rs"]
mod ddblock;

/// A request under way, and the name for what it is granted, if anything.
struct Started {
    pending: Pending,
    hold: Option<String>,
}

#[derive(Default)]
struct Driver {
    clients: HashMap<String, Client>,
    holds: BTreeMap<String, Vec<Hold>>, // as often as it is held
    started: HashMap<String, Started>,
}

type Done = ddblock::Result<()>;

fn say(words: &str, fields: &Fields) {
    let mut line = words.to_string();
    for (name, value) in &fields.0 {
        line += &format!(" {}={}", encode(name.as_bytes()), encode(value));
    }
    println!("{}", line);
}

fn say_reply(reply: &Reply) {
    for row in &reply.rows {
        say("row", row);
    }
    say("ok", &reply.fields);
}

/// The rest of a command: keys, and what is named.
fn parse(words: &[&str]) -> (Vec<Value>, Vec<(String, Value)>) {
    let mut keys = Vec::new();
    let mut named = Vec::new();
    for word in words {
        match word.split_once('=') {
            None if *word == "\"\"" => keys.push("".into()),
            None => keys.push(decode(word.as_bytes()).as_slice().into()),
            Some((name, value)) => {
                let name = decode(name.as_bytes());
                let value = decode(value.as_bytes());
                named.push((
                    String::from_utf8_lossy(&name).into_owned(),
                    value.as_slice().into(),
                ));
            }
        }
    }
    (keys, named)
}

fn borrow(named: &[(String, Value)]) -> Vec<(&str, Value)> {
    named.iter().map(|(n, v)| (n.as_str(), v.clone())).collect()
}

fn yes(is: bool) -> &'static str {
    if is {
        "yes"
    } else {
        "no"
    }
}

fn list(rows: ddblock::Rows) -> Done {
    for row in rows {
        say("row", &row?);
    }
    println!("ok");
    Ok(())
}

/// The body of a scope; its error is its own.
fn body(client: &Client, hold: &Hold, fail: bool) -> Result<(), String> {
    let fields = client.get(hold.key(), &[]).map_err(|e| e.to_string())?;
    println!("body state={}", fields.get("state").unwrap_or_default());
    if fail {
        let id = [("id", hold.id().into())];
        client.request("RELEASE", &[], &id).map_err(|e| e.to_string())?;
        return Err("body".to_string());
    }
    Ok(())
}

fn scope(client: &Client, key: &str, fail: bool) -> Done {
    let result = {
        let hold = client.acquire(key, &[])?;
        body(client, &hold, fail)
    };
    match result {
        Ok(()) => println!("ok"),
        Err(error) => println!("error {}", error),
    }
    Ok(())
}

fn threads(client: &Client, words: &[&str]) {
    let number = |word: &str| word.parse::<u32>().expect("a number");
    let (count, times) = (number(words[0]), number(words[1]));
    let grants = AtomicU64::new(0);
    thread::scope(|threads| {
        for i in 0..count {
            let shared = words.len() > 3;
            let own = if shared { String::new() } else { i.to_string() };
            let key = format!("{}{}", words[2], own);
            let grants = &grants;
            threads.spawn(move || {
                for _ in 0..times {
                    let hold = client
                        .acquire(key.as_str(), &[("reentrant", shared.into())]);
                    if hold.and_then(Hold::release).is_ok() {
                        grants.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    println!("ok grants={}", grants.load(Ordering::Relaxed));
}

impl Driver {
    fn client(&self, name: &str) -> &Client {
        &self.clients[name]
    }

    fn begin(&self, words: &[&str]) -> ddblock::Result<Started> {
        let client = self.client(words[1]);
        let (keys, named) = parse(&words[3..]);
        let (verb, hold) = match words[0] {
            "request" => (words[2], None),
            "try" => ("TRY", Some(words[2].to_string())),
            _ => ("ACQUIRE", Some(words[2].to_string())),
        };
        let pending = client.start(verb, &keys, &borrow(&named))?;
        Ok(Started { pending, hold })
    }

    fn end(&mut self, request: Started) -> Done {
        match request.hold {
            None => say_reply(&request.pending.wait()?),
            Some(name) => self.keep(&name, request.pending.wait_hold()?),
        }
        Ok(())
    }

    fn keep(&mut self, name: &str, hold: Hold) {
        say("ok", hold.fields());
        self.holds.insert(name.to_string(), vec![hold]);
    }

    fn event(&self, client: &Client, name: &str) {
        while let Some(event) = client.next_event(Duration::MAX) {
            if event.name == name {
                let id = event.fields.get("id").unwrap_or_default();
                let hold = self.holds.iter().find(|(_, h)| h[0].id() == id);
                let hold = hold.map_or("-", |(name, _)| name.as_str());
                return say(&format!("event {} {}", name, hold), &event.fields);
            }
        }
    }

    fn hold(&mut self, verb: &str, name: &str, words: &[&str]) -> Done {
        let (_, named) = parse(words);
        let named = borrow(&named);
        if verb == "release" {
            if let Some(mut holds) = self.holds.remove(name) {
                let hold = holds.pop().expect("there is one");
                if !holds.is_empty() {
                    self.holds.insert(name.to_string(), holds);
                }
                hold.release_with(&named)?;
            }
            println!("ok");
            return Ok(());
        }
        match (verb, self.holds.get(name).map(|holds| &holds[0])) {
            ("count", hold) => {
                println!("count {}", hold.map_or(0, Hold::count))
            }
            ("valid", hold) => {
                println!("{}", yes(hold.map_or(false, Hold::is_valid)))
            }
            ("token", Some(hold)) => {
                let key = decode(words[0].as_bytes());
                let key = String::from_utf8_lossy(&key);
                println!("token {}", hold.token_text_of(&key));
            }
            ("until", Some(hold)) => println!("until {}", hold.until_boot_ms()),
            ("lost", Some(hold)) => {
                println!("lost reason={}", hold.wait_lost().unwrap_or_default())
            }
            (_, Some(hold)) => {
                hold.renew_with(&named)?;
                println!("ok");
            }
            (_, None) => println!("released"),
        }
        Ok(())
    }

    fn resume(&mut self, name: &str, words: &[&str]) -> Done {
        let secret = self.client(words[0]).secret().expect("a secret");
        let resumed = self.client(name).resume(&secret)?;
        let mut holds: Vec<Vec<Hold>> = Vec::new();
        for hold in resumed {
            match holds.iter_mut().find(|each| each[0].id() == hold.id()) {
                Some(same) => same.push(hold),
                None => holds.push(vec![hold]),
            }
        }
        println!("ok holds={}", holds.len());
        let names = words[1..].iter().map(|name| name.to_string());
        self.holds.extend(names.zip(holds));
        Ok(())
    }

    fn open(&mut self, name: &str, words: &[&str]) -> Done {
        let (_, named) = parse(words);
        let client = Client::connect_with(None, &borrow(&named))?;
        say("ok", client.hello());
        self.clients.insert(name.to_string(), client);
        Ok(())
    }

    fn of_client(&mut self, verb: &str, name: &str, words: &[&str]) -> Done {
        if verb == "open" {
            return self.open(name, words);
        }
        if verb == "resume" {
            return self.resume(name, words);
        }
        let client = self.client(name);
        let (keys, named) = parse(words);
        let named = borrow(&named);
        match verb {
            "close" => {
                client.close();
                println!("ok");
            }
            "get" => say("ok", &client.get(keys[0].clone(), &named)?),
            "watch" => say("ok", &client.watch(keys[0].clone(), &named)?),
            "unwatch" => {
                client.unwatch(keys[0].clone(), &named)?;
                println!("ok");
            }
            "break" => {
                let token = words[1].parse().expect("a token");
                let (key, reason) = (words[0], words[2]);
                say("ok", &client.break_lock(key, token, reason, &named)?);
            }
            "status" => say_reply(&client.status()?),
            "list" => list(client.list(&named)?)?,
            "held" => list(client.held(&named)?)?,
            "waiting" => list(client.waiting(&named)?)?,
            "event" => self.event(client, words[0]),
            "scope" => scope(client, words[0], words.len() > 1)?,
            _ => threads(client, words),
        }
        Ok(())
    }

    fn perform(&mut self, words: &[&str]) -> Done {
        match words[0] {
            "begin" => {
                let request = self.begin(&words[2..])?;
                self.started.insert(words[1].to_string(), request);
                println!("begun");
            }
            "end" => match self.started.remove(words[1]) {
                Some(request) => self.end(request)?,
                None => println!("nothing"),
            },
            "cancel" => {
                let cancelled = self.started[words[1]].pending.cancel()?;
                println!("ok cancelled={}", yes(cancelled));
            }
            "abandon" => {
                self.started.remove(words[1]);
                println!("ok");
            }
            "acquire" | "try" => {
                let client = self.client(words[1]);
                let (keys, named) = parse(&words[3..]);
                let named = borrow(&named);
                let hold = match (words[0], keys.as_slice()) {
                    ("try", [key]) => {
                        client.try_acquire(key.clone(), &named)?
                    }
                    ("try", keys) => client.try_acquire_all(keys, &named)?,
                    (_, [key]) => client.acquire(key.clone(), &named)?,
                    (_, keys) => client.acquire_all(keys, &named)?,
                };
                self.keep(words[2], hold);
            }
            "request" => {
                let request = self.begin(words)?;
                self.end(request)?;
            }
            "release" | "renew" | "lost" | "token" | "count" | "valid"
            | "until" => {
                self.hold(words[0], words[1], &words[2..])?;
            }
            verb => self.of_client(verb, words[1], &words[2..])?,
        }
        Ok(())
    }
}

fn main() {
    let mut driver = Driver::default();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("text");
        let words: Vec<&str> = line.split(' ').collect();
        if let Err(error) = driver.perform(&words) {
            say(&format!("error {}", error.code), &error.fields);
        }
    }
}
