#!/usr/bin/env python3
"""What no other language can get wrong as the JavaScript client can: listeners
that throw, keys that are no strings, and what keeps Node alive.

The names of dynamodb-lock-client are here, too, as far as it is not what their
document shows (test_parity.py).
"""
import os
import subprocess

import test_clients
from test_clients import harness

(LANGUAGE,) = (each for each in test_clients.LANGUAGES
               if each.name == "javascript")
FOLDER = os.path.join(test_clients.CLIENTS, "javascript")
BEGIN = """
const net = require('node:net');
const fs = require('node:fs');
const ddblock = require('./ddblock.js');
const { FailOpen } = require('./dynamodb-lock-client.js');
const CONFIG = { heartbeatPeriodMs: 3e3, leaseDurationMs: 1e4 };
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const say = (...words) => console.log(...words);

/* A daemon that answers HELLO, and says this to each TRY, with its number for
 * 0. The second promise is of its connection. */
function play(lines) {
    const path = `${process.env.DDBLOCK_SOCKET}.played`;
    const server = net.createServer();
    server.unref();
    const connected = new Promise((resolve) => {
        server.on('connection', (socket) => {
            resolve(socket);
            socket.on('data', (data) => {
                const [, tag, verb] = /^#([0-9]+) ([A-Z]+)/.exec(data);
                if (verb === 'HELLO')
                    socket.write(`#${tag} OK\\n`);
                else if (verb === 'TRY')
                    socket.write(lines.map((line) =>
                        line.replace(/#0|id=0/g, (word) =>
                            word.replace('0', tag)) + '\\n').join(''));
            });
        });
    });
    return new Promise((resolve) => {
        server.listen(path, () => resolve([path, connected]));
    });
}
"""
# A grant that lasts.
GRANT = "OK id=0 token=5 remaining=8999999999.9s until_boot_ms=8900000000000"


class WithDaemon(test_clients.WithDaemon):
    def setUp(self):
        test_clients.need(self, LANGUAGE.name, LANGUAGE.missing())
        super().setUp()

    def says(self, text, *lines, files=1024):
        """A program ends, having said that."""
        done = subprocess.run(
            ["bash", "-c", f"ulimit -n {files}; exec node -"], text=True,
            check=False, input=BEGIN + text, cwd=FOLDER,
            timeout=harness.TIMEOUT_S, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(os.environ, DDBLOCK_SOCKET=self.daemon.socket))
        self.assertEqual(done.stdout.splitlines(), list(lines))
        self.assertEqual(done.returncode, 0)


class Holds(WithDaemon):
    def test_tokens(self):
        """They go by the text of a key, whatever the caller has."""
        self.says("""
async function main() {
    const client = await ddblock.connect();
    for (const key of [7, Buffer.from('a'), [8, 'b'], [Buffer.from('c'), 9]]) {
        const hold = await client.acquire(key);
        const first = String([key].flat()[0]);
        const names = [...hold.tokens.keys()];
        say(typeof names[0], hold.token > 0,
            hold.token === hold.tokens.get(first),
            hold.tokenText === hold.tokenTexts.get(first), names.join());
    }
    client.close();
}
main();
""", "string true true true 7", "string true true true a",
            "string true true true 8,b", "string true true true 9,c")

    def test_without_descriptors(self):
        """A process that can open no file keeps its locks."""
        self.says("""
async function main() {
    const client = await ddblock.connect();
    const hold = await client.acquire('one');
    const open = [];
    try {
        for (;;)
            open.push(fs.openSync('/dev/null'));
    } catch (error) {
        say(error.code);
    }
    say(hold.isValid(), hold.remainingMs() > 0);
    await pause(2500); // the deadlines are looked at, and it is renewed
    say(hold.isValid());
    await hold.release();
    client.close();
}
main();
""", "EMFILE", "true true", "true", files=64)

    def test_without_a_clock(self):
        """What cannot be known is not valid, and not lost for that."""
        self.says("""
const read = fs.readSync;
async function main() {
    const client = await ddblock.connect();
    const hold = await client.acquire('one');
    fs.readSync = () => { throw new Error('EIO'); };
    const begun = process.cpuUsage();
    await pause(1500);
    say(hold.isValid(), hold.remainingMs(), hold.reason);
    say(process.cpuUsage(begun).user < 5e5);
    const refused = await client.acquire('two').catch(({ code }) => code);
    fs.readSync = read;
    say(hold.isValid(), hold.remainingMs() > 0, hold.reason, refused);
    await (await client.acquire('two')).release();
    await hold.release();
    client.close();
}
main();
""", "false 0 undefined", "true", "true true undefined PROTOCOL")


class Listeners(WithDaemon):
    """One that throws is the program's trouble, and takes no line from it."""

    def test_throws(self):
        self.says(f"""
process.on('uncaughtException', ({{ message }}) => say('caught', message));
async function main() {{
    const [path] = await play(['!ONE', '!TWO', '#0 {GRANT}',
        '!LOCK_IN_DANGER id=0', '!LOCK_LOST id=0 reason=broken']);
    const client = await ddblock.connect({{ path }});
    client.on('event', ({{ name, hold }}) => {{
        if (name === 'LOCK_IN_DANGER')
            hold.on('lost', () => {{ throw new Error('of a hold'); }});
        throw new Error(name);
    }});
    client.on('close', () => {{ throw new Error('close'); }});
    const hold = await client.tryAcquire('one');
    say(hold.token, hold.reason, hold.signal.aborted);
    await pause(50);
    client.close();
    say('closed');
}}
main();
""", "caught ONE", "caught TWO", "caught LOCK_IN_DANGER", "caught of a hold",
            "caught LOCK_LOST", "5 broken true", "closed", "caught close")

    def test_all_are_told(self):
        """When a connection ends, each hold and each caller hears of it."""
        self.says(f"""
process.on('uncaughtException', ({{ message }}) => say('caught', message));
async function main() {{
    const [path, connected] = await play(['#0 {GRANT}']);
    const client = await ddblock.connect({{ path }});
    client.on('close', () => say('close'));
    const holds = [];
    for (const key of ['one', 'two']) {{
        const hold = await client.tryAcquire(key);
        hold.on('lost', () => {{ throw new Error(key); }});
        holds.push(hold);
    }}
    const begun = client.acquire('three').catch(({{ code }}) => code);
    (await connected).destroy();
    say(await begun);
    say(holds.map(({{ reason }}) => reason).join());
}}
main();
""", "caught one", "caught two", "close", "NO_DAEMON",
            "disconnected,disconnected")


class Process(WithDaemon):
    """Node ends by itself, though the old names had no close()."""

    def test_ends(self):
        self.says("""
new FailOpen(CONFIG).acquireLock('one', (error, lock) => {
    lock.release((failure) => say('released', failure));
});
""", "released undefined")

    def test_held(self):
        """For as long as there is a lock, there is its process."""
        self.says("""
new FailOpen(CONFIG).acquireLock('one', (error, lock) => {
    setTimeout(() => lock.release(() => say('released')), 200).unref();
});
""", "released")

    def test_waits(self):
        self.says("""
const client = new FailOpen(CONFIG);
client.acquireLock('one', (error, lock) => {
    client.acquireLock('two', (failure, second) => {
        second.release(() => {
            setTimeout(() => lock.release(() => say('released')), 50).unref();
        });
    });
});
""", "released")

    def test_unref(self):
        self.says("""
async function main() {
    const client = await ddblock.connect();
    client.unref();
    const hold = await client.acquire('one');
    await hold.release();
    say(client.ended);
}
main();
""", "undefined")


class Ends(WithDaemon):
    def test_ended(self):
        self.says("""
async function main() {
    const client = await ddblock.connect();
    say(client.ended);
    client.close();
    say(client.ended.code);
}
main();
""", "undefined", "NO_DAEMON")


if __name__ == "__main__":
    harness.main()
