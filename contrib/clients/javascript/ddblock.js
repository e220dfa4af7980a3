'use strict';
/*
 * A client of ddblockd: locks of this host or of a fleet.
 *
 *     const ddblock = require('./ddblock.js');
 *
 *     const client = await ddblock.connect({ name: 'report' });
 *     const hold = await client.acquire('jobs/nightly', { wait: '30s' });
 *     try {
 *         await writeReport(hold.token, hold.signal);
 *     } finally {
 *         await hold.release();
 *     }
 *
 * or, where the language has it, `await using hold = await client.acquire(..)`.
 *
 * One file, Node only; copy it. It speaks ddblock-protocol(7). A hold belongs
 * to its connection: when the client is closed or the process ends, the daemon
 * gives the lock to the next waiter. A hold that was acquired with { linger:
 * '1m' } stays for so long: client.resume(secret) brings it back, on another
 * connection.
 *
 * With connect({ resume: true }) the client connects again when the daemon ends
 * the connection, by a restart for example, and its holds go on: meanwhile each
 * is valid until half a margin before its deadline, afterwards it is either
 * valid or lost. Requests fail meanwhile (NO_DAEMON), and so do those that were
 * under way; what they may have been granted is given back. A release is done
 * later. The client emits 'broken' and 'resumed', also as events. There must be
 * something to go on with: a client that keeps no hold at that moment is over
 * (NO_DAEMON; it emits 'close', and client.ended says why), as one without
 * resume is. A program that lives on makes a new client.
 *
 * Every hold has a deadline that renewals move on, and counts down by itself:
 * a daemon that is stopped or dead cannot keep hold.isValid() true. hold.signal
 * is an AbortSignal that tells of the loss, for any API that takes one; holds
 * emit 'danger', 'safe' and 'lost', clients every 'event'.
 *
 * Arguments of a request go to the daemon unchanged: arguments of newer daemons
 * can be used without a new client (client.request('NEWVERB', key, { argument:
 * 1 })). undefined and null leave an argument out; true and false are yes and
 * no; a number is one of seconds where a duration is meant; an array is joined
 * with commas; a Buffer is sent as it is. Only `signal` is the client's own: an
 * AbortSignal that gives the request up.
 *
 * Values that come are strings, or Buffers if they are not UTF-8;
 * Buffer.from(value) has the bytes of both.
 *
 * Beside this file are its types, ddblock.d.ts, and dynamodb-lock-client.js:
 * the names of that library, for programs that move.
 */
const { EventEmitter } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');

const DEFAULT_SOCKET = '/run/ddblockd/ddblockd.sock';
const LINE_MAX = 1 << 20;
// Timers stop while the host sleeps; its boot-time clock does not.
const LOOK_MS = 1000;
const GRANTING = ['ACQUIRE', 'TRY'];
const CANCELLABLE = ['ACQUIRE', 'TRY', 'LIST', 'HELD', 'WAITING'];
const REFUSED = ['BAD_REQUEST', 'UNSUPPORTED']; // a request that was not run
// Reasons for the end of a connection after which there is no other: such as
// that another client resumed its holds.
const FINAL = ['LOCK_NOT_OWNED', 'DENIED', 'BAD_REQUEST', 'PROTOCOL'];
const PAUSE_MS = 50; // between two tries to connect again: from this,
const PAUSE_MAX_MS = 1000; // to this

/*
 * A request failed. code is a word of the protocol; NO_DAEMON: there is no
 * connection (any more); PROTOCOL: the answer was not understood. cause is the
 * code behind it, if the daemon says so; fields has all fields of the answer.
 */
class DdblockError extends Error {
    constructor(code, text = '', fields = {}) {
        super(text ? `${code}: ${text}` : code, { cause: fields.cause });
        this.name = 'DdblockError';
        this.code = code;
        this.text = text;
        this.fields = fields;
    }
}

// ---- the wire --------------------------------------------------------------

let uptime; // opened once: later there may be no descriptor left
const uptimeText = Buffer.alloc(64);

/*
 * CLOCK_BOOTTIME, which is the clock of all deadlines, in steps of 10 ms. The
 * clock may be a step ahead of what is read, so the next step is used. NaN if
 * it cannot be read: no hold is valid then, and none is judged.
 */
function bootMs() {
    try {
        uptime ??= fs.openSync('/proc/uptime');
        const text = uptimeText.toString('latin1', 0,
            fs.readSync(uptime, uptimeText, 0, uptimeText.length, 0));
        const [, seconds, hundredths] = /^(\d+)\.(\d\d) /.exec(text);
        return Number(seconds) * 1000 + Number(hundredths) * 10 + 10;
    } catch {
        uptime = undefined; // somebody has closed what is not theirs
        return NaN;
    }
}

/* A value in its form on the wire. */
function encode(value) {
    if (typeof value === 'boolean')
        value = value ? 'yes' : 'no';
    else if (Array.isArray(value))
        value = value.join(',');
    const bytes = value instanceof Uint8Array ? Buffer.from(value)
        : Buffer.from(String(value));
    return bytes.toString('latin1').replace(/[^!-~]|[%=]|^:/g, (char) => '%' +
        char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0'));
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/* The text of a value; on the wire each character is a byte (latin1). */
function decode(text) {
    const bytes = Buffer.from(text.replace(/%([0-9A-Fa-f]{2})/g,
        (_, hex) => String.fromCharCode(parseInt(hex, 16))), 'latin1');
    try {
        return utf8.decode(bytes);
    } catch {
        return bytes;
    }
}

/* A duration as the daemon writes it: 250ms, 9.5s. */
function durationMs(text) {
    const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(text) ?? [];
    if (number === undefined)
        throw new DdblockError('PROTOCOL', `"${text}" is not a duration`);
    return unit === 's' ? Number(number) * 1000 : Number(number);
}

function parseLine(line) {
    const words = line.replace(/\r$/, '').split(' ');
    const said = { fields: Object.create(null), text: '' };
    if (words[0].startsWith('#'))
        said.tag = words.shift().slice(1);
    said.kind = words.shift() ?? '';
    if (said.kind.startsWith('!')) {
        said.word = said.kind.slice(1);
        said.kind = '!';
    } else if (said.kind === 'ERR') {
        said.word = words.shift() ?? 'PROTOCOL';
    }
    while (words.length > 0) {
        if (words[0].startsWith(':')) {
            const text = words.join(' ').slice(1);
            said.text = Buffer.from(text, 'latin1').toString();
            break;
        }
        const word = words.shift();
        const equals = word.indexOf('=');
        if (equals >= 0)
            said.fields[decode(word.slice(0, equals))] =
                decode(word.slice(equals + 1));
    }
    return said;
}

function asArray(key) {
    return Array.isArray(key) ? key : [key];
}

/*
 * Emit an event when all is done that was begun, in a turn of its own: a
 * listener that throws keeps no line of the daemon, and no other listener, from
 * its turn.
 */
function tell(emitter, ...event) {
    queueMicrotask(() => emitter.emit(...event));
}

// ---- holds -----------------------------------------------------------------

class Hold extends EventEmitter {
    #client;
    #lost = new AbortController();

    constructor(client, { key, args, verb }, reply) {
        super();
        this.#client = client;
        this.key = reply.fields.key ?? key; // known only from RESUME
        this.reply = reply;
        this.id = reply.fields.id;
        // Of several locks each has its own; the hold's is that of the first.
        // They go by its text, whatever the caller has for a key.
        const keys = asArray(this.key).map((each) => decode(encode(each)));
        const rows = reply.rows.length > 0 ? reply.rows :
            [{ ...reply.fields, key: keys[0] }];
        this.tokens = new Map();
        this.tokenTexts = new Map(); // for tokens too large for a number
        for (const row of rows)
            this._addToken(row);
        this.token = this.tokens.get(keys[0]) ?? 0;
        this.tokenText = this.tokenTexts.get(keys[0]) ?? '0';
        this.mode = reply.fields.mode ?? 'exclusive';
        this.ns = reply.fields.ns ?? args.ns ?? client.defaultNs;
        this.isManual = args.renew === 'manual'; // its own RENEW moves it
        // Without it, there is no deadline.
        this.untilBootMs = Number(reply.fields.until_boot_ms ?? Infinity);
        // Of its max_hold.
        this.endBootMs = Number(reply.fields.end_boot_ms ?? Infinity);
        this.marginMs = durationMs(reply.fields.margin ?? '0s');
        // By the daemon, if it ends the connection.
        this._isKept = client._resumes &&
            (reply.fields.secret !== undefined || verb === 'RESUME');
        this.reason = undefined; // of the loss
        this.count = 1; // how often it is held: once, if it is not reentrant
        this._releasing = new Set(); // each RELEASE that is under way
    }

    _addToken({ key, token = '0', token_text: text = token }) {
        this.tokens.set(key, Number(token));
        this.tokenTexts.set(key, text);
    }

    get isReleased() {
        return this.count <= 0;
    }

    /* Aborted when the hold is lost. */
    get signal() {
        return this.#lost.signal;
    }

    /* May the guarded resource be used? True only before the deadline. */
    isValid() {
        return !this.isReleased && this.reason === undefined &&
            bootMs() < this._goodMs();
    }

    /* The deadline; without a connection half a margin earlier. */
    _goodMs() {
        return this.untilBootMs -
            (this.#client._isAway ? this.marginMs / 2 : 0);
    }

    /* Milliseconds to the deadline, unless a renewal moves it on. */
    remainingMs() {
        if (this.isReleased || this.reason !== undefined)
            return 0;
        return Math.max(this._goodMs() - bootMs(), 0) || 0;
    }

    /* Release it, once. Throws LOCK_LOST if it was lost before. */
    async release(args) {
        await this.#client._release(this, args);
    }

    /* Renew it now: a proof that the store answers. */
    async renew(args) {
        const reply = await this.#client.request('RENEW', undefined,
            { id: this.id, ...args });
        this._extend(reply.fields);
    }

    /* A deadline moves forward only, and not beyond the hold's end. */
    _extend(fields) {
        this.untilBootMs = Math.max(this.untilBootMs,
            Math.min(Number(fields.until_boot_ms ?? 0), this.endBootMs));
    }

    _lostError() {
        return new DdblockError('LOCK_LOST',
            `the lock was lost: ${this.reason}`);
    }

    _lose(reason, fields) {
        this.reason = reason;
        // The daemon is stopped; its lock is free by now nevertheless.
        for (const pending of this._releasing)
            pending.reject(this._lostError());
        if (this.isReleased)
            return;
        this.#lost.abort(this._lostError());
        tell(this, 'lost', fields);
    }
}

// If the block throws, too, the language throws a SuppressedError of both.
if (Symbol.asyncDispose !== undefined)
    Hold.prototype[Symbol.asyncDispose] = function dispose() {
        return this.release();
    };

// ---- clients ---------------------------------------------------------------

/* A request under way: `result` is a promise of its reply or its hold. */
class Pending {
    constructor(client, tag, verb, key, args) {
        Object.assign(this, { client, tag, verb, key, args });
        this.rows = [];
        this.onRow = (row) => this.rows.push(row);
        this.isAbandoned = false;
        this.resumed = new Map(); // holds, by their ids
        this.result = new Promise((resolve, reject) => {
            this.resolve = resolve;
            this.reject = reject;
        });
        this.result.catch(() => {}); // the caller may not look
    }

    /* Give it up: it fails with CANCELLED, unless it was late. */
    async cancel() {
        const reply = await this.client.request('CANCEL', undefined,
            { tag: this.tag });
        return reply.fields.cancelled === 'yes';
    }
}

/*
 * A connection to the daemon. Emits 'event' with {name, fields, hold} for all
 * events of the daemon, and 'close' with an error.
 */
class Client extends EventEmitter {
    #socket;
    #serial = 0;
    #lineMax = LINE_MAX;
    #pending = new Map();
    #holds = new Map();
    #rest = '';
    #timer;
    #ended; // the error for later callers
    #again; // the timer of the next try to connect
    #pauseMs = 0;
    #found = new Set(); // by the rows of RESUME
    #isUnref = false; // does Node end in spite of an idle connection?

    constructor(socket) {
        super();
        this.secret = undefined; // that resumes lingering holds
        this._resumes = false; // does it connect again?
        this._isAway = false; // until RESUME is answered
        this.#use(socket);
    }

    #use(socket) {
        let error = new DdblockError('NO_DAEMON',
            'the daemon ended the connection');
        this.#socket = socket;
        socket.on('data', (data) => this.#feed(data.toString('latin1')));
        socket.on('error', ({ message }) => {
            error = new DdblockError('NO_DAEMON',
                `the connection ended: ${message}`);
        });
        socket.on('close', () => this.#part(error));
    }

    /* Why the client is over, which it stays; undefined: it is not. */
    get ended() {
        return this.#ended;
    }

    /* From now on the client keeps the process alive only while it has a hold,
     * or a request is under way. */
    unref() {
        this.#isUnref = true;
        this.#keepAlive();
    }

    #keepAlive() {
        if (!this.#isUnref)
            return;
        if (this.#pending.size + this.#holds.size > 0)
            this.#socket.ref();
        else
            this.#socket.unref();
    }

    /* End the connection. The daemon releases all holds that do not linger. */
    close() {
        for (const hold of this.#holds.values())
            hold.count = 0;
        this.#holds.clear();
        this.#end(new DdblockError('NO_DAEMON', 'the client was closed'));
        this.#socket.destroy();
    }

    /* Send a request and go on. Any number may be under way. */
    start(verb, key, { signal, ...args } = {}) {
        signal?.throwIfAborted();
        const pending = this.#start(verb, key, args);
        if (signal) {
            const abort = () => {
                pending.reject(signal.reason);
                this.#abandon(pending);
            };
            signal.addEventListener('abort', abort, { once: true });
            const done = () => signal.removeEventListener('abort', abort);
            pending.result.then(done, done);
        }
        return pending;
    }

    /* Send a request and wait for its reply: {fields, text, rows}. */
    async request(verb, key, args) {
        return this.start(verb, key, args).result;
    }

    /*
     * A Hold on the lock, as soon as it is free (wait: '5s': at most). An array
     * of keys: on all of these locks as one.
     */
    async acquire(key, args) {
        return this.request('ACQUIRE', key, args);
    }

    /* A Hold if the lock is free, else an error LOCK_BUSY. */
    async tryAcquire(key, args) {
        return this.request('TRY', key, args);
    }

    /*
     * The lingering Holds of another client, by its secret, before the first
     * acquire here. Holds that were lost meanwhile are among them. A caller
     * that gives this up closes the client, and they linger again.
     */
    async resume(secret) {
        return this.request('RESUME', undefined, { secret });
    }

    /* Fields about the holder of the lock. */
    async get(key, args) {
        return (await this.request('GET', key, args)).fields;
    }

    /* The same, and from now on an event CHANGED at each change. */
    async watch(key, args) {
        return (await this.request('WATCH', key, args)).fields;
    }

    async unwatch(key, args) {
        await this.request('UNWATCH', key, args);
    }

    /* For administrators: take the lock from its holder, if the holder has this
     * token; without a token, if the record still is the `record` of get(). */
    async breakLock(key, token, reason, args) {
        return (await this.request('BREAK', key,
            { ...args, token, reason })).fields;
    }

    /* The locks in the store; leaving the loop cancels the listing. */
    list(args) {
        return this.#listing('LIST', args);
    }

    /* The holds of this daemon's clients. */
    held(args) {
        return this.#listing('HELD', args);
    }

    /* The locks that they wait for. */
    waiting(args) {
        return this.#listing('WAITING', args);
    }

    /* Rows are the namespaces, fields the daemon's. */
    async status() {
        return this.request('STATUS');
    }

    async* #listing(verb, args = {}) {
        const pending = this.#start(verb, undefined, args);
        let rows = [];
        let wake = () => {};
        let done = false;
        pending.onRow = (row) => {
            rows.push(row);
            wake();
        };
        const ended = () => {
            done = true;
            wake();
        };
        pending.result.then(ended, ended);
        try {
            while (!done || rows.length > 0) {
                if (rows.length === 0)
                    await new Promise((resolve) => { wake = resolve; });
                const batch = rows;
                rows = [];
                yield* batch;
            }
            await pending.result;
        } finally {
            this.#abandon(pending);
        }
    }

    #start(verb, key, args) {
        if (this.#ended)
            throw this.#ended;
        if (this._isAway)
            throw new DdblockError('NO_DAEMON',
                'the connection broke; another is tried');
        return this.#send(verb, key, args);
    }

    #send(verb, key, args) {
        const tag = String(++this.#serial);
        const words = [`#${tag}`, verb];
        if (key !== undefined && key !== null) {
            const keys = asArray(key).map(encode);
            if (keys.includes('')) // it would not be seen on the wire
                throw new DdblockError('BAD_REQUEST', 'a key is empty');
            words.push(...keys);
        }
        for (const [name, value] of Object.entries(args)) {
            if (value !== undefined && value !== null)
                words.push(`${encode(name)}=${encode(value)}`);
        }
        const line = words.join(' ') + '\n';
        if (line.length > this.#lineMax)
            throw new DdblockError('BAD_REQUEST',
                'the request is longer than a line');
        const pending = new Pending(this, tag, verb, key, args);
        this.#pending.set(tag, pending);
        this.#keepAlive();
        this.#socket.write(line, 'latin1');
        return pending;
    }

    /* The caller does not wait any more. A grant that comes is released. */
    #abandon(pending) {
        if (this.#pending.has(pending.tag) && !pending.isAbandoned) {
            pending.isAbandoned = true;
            if (CANCELLABLE.includes(pending.verb))
                this.#sendUnheard('CANCEL', { tag: pending.tag });
        }
    }

    #sendUnheard(verb, args) {
        if (!this.#ended && !this._isAway)
            this.#start(verb, undefined, args).isAbandoned = true;
    }

    async _release(hold, args) {
        if (hold.isReleased)
            return;
        if (hold.reason !== undefined) {
            hold.count--;
            this.#giveBack(hold.id);
            throw hold._lostError();
        }
        if (this._isAway) { // it is given back when it is found
            hold.count--;
            this.#forget(hold);
            return;
        }
        const pending = this.#start('RELEASE', undefined,
            { id: hold.id, ...args });
        hold.count--;
        hold._releasing.add(pending);
        await pending.result;
    }

    #feed(data) {
        const lines = (this.#rest + data).split('\n');
        this.#rest = lines.pop();
        for (const line of lines) {
            const said = parseLine(line);
            const pending = this.#pending.get(said.tag);
            if (said.kind === '!')
                this.#event(said.word, said.fields);
            else if (pending)
                this.#answer(pending, said);
            else if (said.kind === 'ERR' && said.tag === undefined &&
                (!this._resumes || FINAL.includes(said.word)))
                // It refuses the connection, not a request of ours.
                this.#end(new DdblockError(said.word, said.text, said.fields));
        }
        this.#setTimer();
    }

    #answer(pending, said) {
        try {
            if (said.kind === '+') {
                this.#row(pending, said.fields);
                return;
            }
            this.#pending.delete(pending.tag);
            if (this._isAway && pending.verb === 'RESUME') {
                this.#reopened(said);
                return;
            }
            if (pending.verb === 'RELEASE')
                this.#released(pending, said);
            if (said.kind !== 'OK')
                throw new DdblockError(said.word ?? 'PROTOCOL', said.text,
                    said.fields);
            pending.resolve(this.#result(pending, { fields: said.fields,
                text: said.text, rows: pending.rows }));
        } catch (error) {
            pending.reject(error);
        }
    }

    #result(pending, reply) {
        if (GRANTING.includes(pending.verb))
            return this.#grant(pending, reply);
        if (pending.verb === 'RESUME') {
            this.secret = pending.args.secret;
            return [...pending.resumed.values()];
        }
        if (pending.verb === 'HELLO')
            this.#lineMax = Number(reply.fields.line_max ?? LINE_MAX);
        return reply;
    }

    /* A row of RESUME: a lock that this client holds from here on. */
    #row(pending, fields) {
        if (pending.verb !== 'RESUME') {
            pending.onRow(fields);
            return;
        }
        if (this._isAway) {
            this.#find(fields);
            return;
        }
        let hold = pending.resumed.get(fields.id);
        if (hold) {
            hold.key = [...hold.tokens.keys(), fields.key];
            hold._addToken(fields);
            return;
        }
        hold = this.#begin(pending, { fields, text: '', rows: [] });
        hold.count = Number(fields.count ?? 1);
        pending.resumed.set(hold.id, hold);
        if (fields.state === 'lost')
            this.#lose(hold, fields.reason);
    }

    #grant(pending, reply) {
        if (pending.isAbandoned) {
            this.#giveBack(reply.fields.id);
            return undefined;
        }
        this.secret = reply.fields.secret ?? this.secret;
        const hold = this.#holds.get(reply.fields.id);
        if (!hold)
            return this.#begin(pending, reply);
        hold.count++;
        hold._extend(reply.fields);
        return hold;
    }

    #begin(pending, reply) {
        const hold = new Hold(this, pending, reply);
        if (hold.id === undefined || Number.isNaN(hold.untilBootMs))
            throw new DdblockError('PROTOCOL', 'cannot read the grant',
                reply.fields);
        const left = hold.untilBootMs - bootMs();
        if (Number.isNaN(left)) {
            this.#giveBack(hold.id);
            throw new DdblockError('PROTOCOL',
                'the boot-time clock cannot be read', reply.fields);
        }
        if (left !== Infinity &&
            left > durationMs(reply.fields.remaining) + LOOK_MS) {
            this.#giveBack(hold.id);
            throw new DdblockError('PROTOCOL',
                'the daemon has another boot-time clock', reply.fields);
        }
        this.#holds.set(hold.id, hold);
        return hold;
    }

    #giveBack(id) {
        this.#sendUnheard('RELEASE', { id });
    }

    /*
     * The daemon says how often it is still held. A release that was refused
     * for its arguments is repeated without them.
     */
    #released(pending, { kind, word, fields }) {
        const hold = this.#holds.get(pending.args.id);
        if (!hold?._releasing.delete(pending))
            return;
        if (kind === 'OK')
            hold.count = Math.min(hold.count, Number(fields.count ?? 0));
        else if (REFUSED.includes(word))
            this.#giveBack(hold.id);
        this.#forget(hold);
    }

    /* Unless it is held once more, or a release is under way. */
    #forget(hold) {
        if (hold.isReleased && hold._releasing.size === 0)
            this.#holds.delete(hold.id);
    }

    #event(name, fields) {
        const hold = this.#holds.get(fields.id);
        if (name === 'RENEWED') {
            for (const each of this.#holds.values()) {
                if (each.ns === fields.ns && !each.isManual &&
                    (!this._isAway || this.#found.has(each.id)))
                    each._extend(fields);
            }
        } else if (name === 'LOCK_LOST') {
            if (hold)
                this.#lose(hold, fields.reason ?? 'unknown', fields);
        } else {
            hold?._extend(fields);
            if (hold && name === 'LOCK_IN_DANGER')
                tell(hold, 'danger', fields);
            else if (hold && name === 'LOCK_SAFE')
                tell(hold, 'safe', fields);
            tell(this, 'event', { name, fields, hold });
        }
    }

    /* The hold is lost: once, and for ever. */
    #lose(hold, reason, fields = { id: hold.id, reason }) {
        this.#holds.delete(hold.id);
        hold._lose(reason, fields);
        if (!hold.isReleased)
            tell(this, 'event', { name: 'LOCK_LOST', fields, hold });
    }

    /*
     * All input is read before the deadlines are judged: it may be a renewal.
     */
    #setTimer() {
        this.#keepAlive();
        clearTimeout(this.#timer);
        if (this.#holds.size === 0)
            return;
        const first = Math.min(...[...this.#holds.values()].map(
            (hold) => hold._goodMs()));
        const leftMs = first - bootMs();
        this.#timer = setTimeout(() => setImmediate(() => this.#judge()),
            leftMs < LOOK_MS ? Math.max(leftMs, 0) : LOOK_MS);
    }

    #judge() {
        const now = bootMs();
        for (const hold of [...this.#holds.values()]) {
            if (now >= hold._goodMs())
                this.#lose(hold, this._isAway ? 'disconnected' : 'expired');
        }
        if (this._isAway && this.#holds.size === 0) {
            this.#end(new DdblockError('NO_DAEMON', 'the connection broke'));
            this.#socket.destroy();
            return;
        }
        this.#setTimer();
    }

    /* The connection broke: another is tried, for what the daemon keeps. */
    #part(error) {
        if (this.#ended)
            return;
        this.#rest = '';
        for (const pending of this.#pending.values())
            pending.reject(error);
        this.#pending.clear();
        for (const hold of [...this.#holds.values()]) {
            hold._releasing.clear();
            if (!hold._isKept && !hold.isReleased)
                this.#lose(hold, 'disconnected');
            this.#forget(hold);
        }
        if (this.#holds.size === 0) {
            this.#end(error);
            return;
        }
        if (!this._isAway) {
            this._isAway = true;
            this.#tell('broken');
        }
        const pauseMs = this.#pauseMs * (0.5 + Math.random());
        this.#pauseMs = Math.min(Math.max(2 * this.#pauseMs, PAUSE_MS),
            PAUSE_MAX_MS);
        this.#again = setTimeout(() => this.#reopen(), pauseMs);
        this.#setTimer();
    }

    #tell(name) {
        tell(this, name);
        tell(this, 'event',
            { name: name.toUpperCase(), fields: {}, hold: undefined });
    }

    /* Another connection; if there is none, its end says so. */
    #reopen() {
        const socket = net.createConnection({ path: this._path });
        this.#found.clear();
        socket.once('connect', () => {
            if (this.#ended)
                return;
            for (const [verb, args] of [['HELLO', this._hello],
                ['HELLO', { resume: true }],
                ['RESUME', { secret: this.secret }]])
                this.#send(verb, undefined, args).isAbandoned = true;
        });
        this.#use(socket);
    }

    /* A row of its answer: ours again, or to be given back. */
    #find({ id, count = 1, state, reason, until_boot_ms: until }) {
        if (this.#found.has(id))
            return;
        this.#found.add(id);
        const hold = this.#holds.get(id);
        if (hold && until !== undefined)
            hold.untilBootMs = Number(until);
        for (let n = hold?.count ?? 0; n < Number(count); n++)
            this.#send('RELEASE', undefined, { id }).isAbandoned = true;
        if (hold && state === 'lost')
            this.#lose(hold, reason);
    }

    #reopened({ kind, word }) {
        if (word === 'SHUTTING_DOWN')
            return; // its end follows, and then another try
        if (kind !== 'OK') {
            this.#end(new DdblockError('NO_DAEMON',
                'the daemon does not know the holds'));
            this.#socket.destroy();
            return;
        }
        for (const hold of [...this.#holds.values()]) {
            if (!this.#found.has(hold.id))
                this.#lose(hold, 'disconnected');
        }
        this._isAway = false;
        this.#pauseMs = 0;
        this.#tell('resumed');
    }

    /* The connection is over, and with it all holds. */
    #end(error) {
        if (this.#ended)
            return;
        this.#ended = error;
        clearTimeout(this.#timer);
        clearTimeout(this.#again);
        for (const pending of this.#pending.values())
            pending.reject(error);
        this.#pending.clear();
        for (const hold of [...this.#holds.values()])
            this.#lose(hold, 'disconnected');
        tell(this, 'close', error);
    }
}

if (Symbol.asyncDispose !== undefined) {
    Client.prototype[Symbol.asyncDispose] = async function dispose() {
        this.close();
    };
}

/* A Client that is connected. Other arguments than path go into HELLO. */
async function connect({ path, resume, ...hello } = {}) {
    path ??= process.env.DDBLOCK_SOCKET || DEFAULT_SOCKET;
    const socket = net.createConnection({ path });
    await new Promise((resolve, reject) => {
        socket.once('connect', resolve);
        socket.once('error', (error) => reject(new DdblockError('NO_DAEMON',
            `cannot connect to ${path}: ${error.message}`)));
    });
    const client = new Client(socket);
    try {
        client._path = path;
        client._hello = { proto: 1, ...hello, renewed: true };
        client.hello = await client.request('HELLO', undefined,
            client._hello);
        if (resume) {
            client._resumes = true;
            // An older daemon refuses that, and keeps what lingers.
            client.start('HELLO', undefined, { resume: true });
        }
    } catch (error) {
        client.close();
        throw error;
    }
    const { namespaces = 'default' } = client.hello.fields;
    client.defaultNs = namespaces.split(',')[0];
    return client;
}

module.exports = { connect, Client, Hold, DdblockError, encode, decode };
