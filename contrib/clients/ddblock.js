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
 * gives it to the next in line. One that was acquired with { linger: '1m' }
 * stays for so long: client.resume(secret) has it again, on another connection.
 *
 * Every hold has a deadline that renewals move on, and counts down by itself:
 * a daemon that is stopped or dead cannot keep hold.isValid() true. hold.signal
 * is an AbortSignal that tells of the loss, for whatever takes one; holds emit
 * 'danger', 'safe' and 'lost', clients every 'event'.
 *
 * Arguments of a request go to the daemon as they are: what it learns tomorrow
 * can be used today (client.request('NEWVERB', key, { argument: 1 })).
 * undefined and null leave an argument out; true and false are yes and no; a
 * number is one of seconds where a duration is meant; an array is joined with
 * commas; a Buffer is sent as it is. `signal` alone is ours: an AbortSignal
 * that gives the request up.
 *
 * Values that come are strings, or Buffers if they are not UTF-8;
 * Buffer.from(value) has the bytes of both.
 */
const { EventEmitter } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');

const DEFAULT_SOCKET = '/run/ddblockd/ddblockd.sock';
const LINE_MAX = 1 << 20;
// Timers stand still while the host sleeps; its boot-time clock does not.
const LOOK_MS = 1000;
const GRANTING = ['ACQUIRE', 'TRY'];
const CANCELLABLE = ['ACQUIRE', 'TRY', 'LIST', 'HELD', 'WAITING'];
const REFUSED = ['BAD_REQUEST', 'UNSUPPORTED']; // a request that was not run

/*
 * A request failed. code is a word of the protocol; NO_DAEMON: there is no
 * connection (any more); PROTOCOL: the answer was not understood. cause is the
 * code behind it, if the daemon says so; fields has all it said.
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

/*
 * CLOCK_BOOTTIME, which is the clock of all deadlines, in steps of 10 ms. What
 * is read may be over by a step, so the next one is meant.
 */
function bootMs() {
    const text = fs.readFileSync('/proc/uptime', 'latin1');
    const [, seconds, hundredths] = /^(\d+)\.(\d\d) /.exec(text);
    return Number(seconds) * 1000 + Number(hundredths) * 10 + 10;
}

/* A value as it stands on the wire. */
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

/* What a value says; on the wire each character is a byte (latin1). */
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

// ---- holds -----------------------------------------------------------------

class Hold extends EventEmitter {
    #client;
    #lost = new AbortController();

    constructor(client, { key, args }, reply) {
        super();
        this.#client = client;
        this.key = reply.fields.key ?? key; // it is said by RESUME
        this.reply = reply;
        this.id = reply.fields.id;
        // Of several locks each has its own; the hold's is the first's.
        const keys = asArray(this.key);
        const rows = reply.rows.length > 0 ? reply.rows :
            [{ ...reply.fields, key: keys[0] }];
        this.tokens = new Map();
        this.tokenTexts = new Map(); // for those that no number has room for
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
        this.reason = undefined; // for which it was lost
        this.count = 1; // how often it is held: once, if it is not reentrant
        this.releasing = new Set(); // each RELEASE that is under way
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

    /* May what the lock guards be used? True only before the deadline. */
    isValid() {
        return !this.isReleased && this.reason === undefined &&
            bootMs() < this.untilBootMs;
    }

    /* Milliseconds to the deadline, unless a renewal moves it on. */
    remainingMs() {
        if (this.isReleased || this.reason !== undefined)
            return 0;
        return Math.max(this.untilBootMs - bootMs(), 0);
    }

    /* Give it back, once. Throws LOCK_LOST if it was lost before. */
    async release(args) {
        await this.#client._release(this, args);
    }

    /* Have it renewed now: proof that the store answers. */
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
        // The daemon stands still; its lock is free by now all the same.
        for (const pending of this.releasing)
            pending.reject(this._lostError());
        if (this.isReleased)
            return;
        this.#lost.abort(this._lostError());
        this.emit('lost', fields);
    }
}

// An error of the block wins over one of the release by itself there.
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
        this.result.catch(() => {}); // nobody may be looking
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
 * that the daemon says of its own accord, and 'close' with an error.
 */
class Client extends EventEmitter {
    #socket;
    #serial = 0;
    #lineMax = LINE_MAX;
    #pending = new Map();
    #holds = new Map();
    #rest = '';
    #timer;
    #ended; // the error for whoever comes later

    constructor(socket) {
        super();
        this.secret = undefined; // by which what lingers can be resumed
        this.#socket = socket;
        socket.on('data', (data) => this.#feed(data.toString('latin1')));
        socket.on('error', (error) => this.#end(new DdblockError('NO_DAEMON',
            `the connection ended: ${error.message}`)));
        socket.on('close', () => this.#end(new DdblockError('NO_DAEMON',
            'the daemon ended the connection')));
    }

    /* End the connection. The daemon releases what does not linger. */
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
     * The Holds that linger by the secret of another client, before anything is
     * acquired here. What was lost meanwhile is among them. Whoever gives this
     * up closes the client, and they linger again.
     */
    async resume(secret) {
        return this.request('RESUME', undefined, { secret });
    }

    /* Fields that say who has the lock. */
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

    /* Take it from its holder, if that has this token: administrators. Or,
     * without a token, if it still is the `record` that get() showed. */
    async breakLock(key, token, reason, args) {
        return (await this.request('BREAK', key,
            { ...args, token, reason })).fields;
    }

    /* The locks in the store; to leave the loop is to cancel the listing. */
    list(args) {
        return this.#listing('LIST', args);
    }

    /* What the clients of this daemon hold. */
    held(args) {
        return this.#listing('HELD', args);
    }

    /* What they wait for. */
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
        const tag = String(++this.#serial);
        const words = [`#${tag}`, verb];
        if (key !== undefined && key !== null)
            words.push(...asArray(key).map(encode));
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
        this.#socket.write(line, 'latin1');
        return pending;
    }

    /* Nobody waits for it any more. A grant that comes is given back. */
    #abandon(pending) {
        if (this.#pending.has(pending.tag) && !pending.isAbandoned) {
            pending.isAbandoned = true;
            if (CANCELLABLE.includes(pending.verb))
                this.#sendUnheard('CANCEL', { tag: pending.tag });
        }
    }

    #sendUnheard(verb, args) {
        if (!this.#ended)
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
        const pending = this.#start('RELEASE', undefined,
            { id: hold.id, ...args });
        hold.count--;
        hold.releasing.add(pending);
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
            else if (said.kind === 'ERR' && said.tag === undefined)
                // It refuses no request of ours, but the connection.
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

    /* Of RESUME: a lock that is had again from here on. */
    #row(pending, fields) {
        if (pending.verb !== 'RESUME') {
            pending.onRow(fields);
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
     * It is held no more often than the daemon says. What was refused, for what
     * it brought, is done without that.
     */
    #released(pending, { kind, word, fields }) {
        const hold = this.#holds.get(pending.args.id);
        if (!hold?.releasing.delete(pending))
            return;
        if (kind === 'OK')
            hold.count = Math.min(hold.count, Number(fields.count ?? 0));
        else if (REFUSED.includes(word))
            this.#giveBack(hold.id);
        if (hold.isReleased && hold.releasing.size === 0)
            this.#holds.delete(hold.id);
    }

    #event(name, fields) {
        const hold = this.#holds.get(fields.id);
        if (name === 'RENEWED') {
            for (const each of this.#holds.values()) {
                if (each.ns === fields.ns && !each.isManual)
                    each._extend(fields);
            }
        } else if (name === 'LOCK_LOST') {
            if (hold)
                this.#lose(hold, fields.reason ?? 'unknown', fields);
        } else {
            hold?._extend(fields);
            if (name === 'LOCK_IN_DANGER')
                hold?.emit('danger', fields);
            else if (name === 'LOCK_SAFE')
                hold?.emit('safe', fields);
            this.emit('event', { name, fields, hold });
        }
    }

    /* It is over: once, and for good. */
    #lose(hold, reason, fields = { id: hold.id, reason }) {
        this.#holds.delete(hold.id);
        hold._lose(reason, fields);
        if (!hold.isReleased)
            this.emit('event', { name: 'LOCK_LOST', fields, hold });
    }

    /*
     * What has arrived is read before the deadlines are judged: it may be a
     * renewal.
     */
    #setTimer() {
        clearTimeout(this.#timer);
        if (this.#holds.size === 0)
            return;
        const first = Math.min(...[...this.#holds.values()].map(
            (hold) => hold.untilBootMs));
        this.#timer = setTimeout(() => setImmediate(() => this.#judge()),
            Math.min(Math.max(first - bootMs(), 0), LOOK_MS));
    }

    #judge() {
        const now = bootMs();
        for (const hold of [...this.#holds.values()]) {
            if (now >= hold.untilBootMs)
                this.#lose(hold, 'expired');
        }
        this.#setTimer();
    }

    /* The connection is over, and with it all holds. */
    #end(error) {
        if (this.#ended)
            return;
        this.#ended = error;
        clearTimeout(this.#timer);
        for (const pending of this.#pending.values())
            pending.reject(error);
        this.#pending.clear();
        for (const hold of [...this.#holds.values()])
            this.#lose(hold, 'disconnected');
        this.emit('close', error);
    }
}

if (Symbol.asyncDispose !== undefined) {
    Client.prototype[Symbol.asyncDispose] = async function dispose() {
        this.close();
    };
}

/* A Client that is connected. Other arguments than path go into HELLO. */
async function connect({ path, ...hello } = {}) {
    path ??= process.env.DDBLOCK_SOCKET || DEFAULT_SOCKET;
    const socket = net.createConnection({ path });
    await new Promise((resolve, reject) => {
        socket.once('connect', resolve);
        socket.once('error', (error) => reject(new DdblockError('NO_DAEMON',
            `cannot connect to ${path}: ${error.message}`)));
    });
    const client = new Client(socket);
    try {
        client.hello = await client.request('HELLO', undefined,
            { proto: 1, ...hello, renewed: true });
    } catch (error) {
        client.close();
        throw error;
    }
    const { namespaces = 'default' } = client.hello.fields;
    client.defaultNs = namespaces.split(',')[0];
    return client;
}

// ---- for those who come from dynamodb-lock-client ---------------------------

/*
 * The lock of a FailOpen or FailClosed client. 'error': the renewal fails, or
 * the lock was lost. One that was not to send heartbeats tells those only who
 * ask for it; nobody else would expect it.
 */
class Lock extends EventEmitter {
    constructor(hold, isRenewed) {
        super();
        this.hold = hold;
        this.fencingToken = hold.token;
        const tell = (error) => {
            if (isRenewed || this.listenerCount('error') > 0)
                this.emit('error', error);
        };
        hold.on('danger', () => tell(new DdblockError('LOCK_IN_DANGER',
            'the lock is not being renewed')));
        hold.on('lost', () => tell(hold.signal.reason));
    }

    release(callback) {
        this.hold.release().then(() => callback(), callback);
    }
}

/*
 * The old calls. The table, heartbeats and leases are the daemon's; of config,
 * owner, retryCount and the period are used: for so long acquireLock waits.
 */
class CallbackClient {
    #client;
    #isRenewed;

    constructor(periodMs, { path, owner, retryCount = 1 }, args,
        isRenewed) {
        this.args = { ...args, wait: `${Math.round(periodMs * retryCount)}ms` };
        this.#isRenewed = isRenewed;
        this.#client = connect({ path, name: owner });
        this.#client.catch(() => {}); // acquireLock tells
    }

    /* An id that is a Buffer is the key of its hexadecimal digits. */
    acquireLock(id, opt, callback = opt) {
        const args = { ...this.args };
        if (opt.readLock)
            args.mode = 'shared';
        const key = Buffer.isBuffer(id) ? id.toString('hex') : id;
        this.#client.then((client) => client.acquire(key, args)).then(
            (hold) => callback(undefined, new Lock(hold, this.#isRenewed)),
            callback);
    }

    /* The old one had no end. */
    close() {
        this.#client.then((client) => client.close(), () => {});
    }
}

/* Without heartbeatPeriodMs, a lock is held for leaseDurationMs. */
class FailOpen extends CallbackClient {
    constructor(config) {
        const { leaseDurationMs, heartbeatPeriodMs } = config;
        const isRenewed = heartbeatPeriodMs !== undefined;
        super(leaseDurationMs, config, isRenewed ? {}
            : { max_hold: `${leaseDurationMs}ms`, danger: 'never' },
        isRenewed);
    }
}

/* What is not released stays locked, until somebody breaks it. */
class FailClosed extends CallbackClient {
    constructor(config) {
        super(config.acquirePeriodMs, config, { policy: 'fail-closed' },
            false);
    }
}

module.exports = { connect, Client, Hold, DdblockError, encode, decode,
    FailOpen, FailClosed, Lock };
