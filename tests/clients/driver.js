'use strict';
// The driver of the JavaScript client: see test_clients.py. With
// $DDBLOCK_CLIENT, of the package that is installed in that folder.
const { once } = require('node:events');
const { createRequire } = require('node:module');
const readline = require('node:readline');
const folder = process.env.DDBLOCK_CLIENT;
const ddblock = folder ? createRequire(`${folder}/`)('ddblock')
    : require('../../contrib/clients/javascript/ddblock.js');
const old = require('./old.js');

const lines = readline.createInterface(process.stdin)[Symbol.asyncIterator]();
const clients = new Map();
const events = new Map(); // of each client, those that nobody has asked for
const holds = new Map();
const started = new Map();

function say(words, fields = {}) {
    const pairs = Object.entries(fields).map(([name, value]) =>
        `${ddblock.encode(name)}=${ddblock.encode(value)}`);
    process.stdout.write([words, ...pairs].join(' ') + '\n');
}

async function nextLine() {
    return (await lines.next()).value;
}

function nameOf(hold) {
    for (const [name, each] of holds) {
        if (each === hold)
            return name;
    }
    return '-';
}

/* The rest of a command: values, and what is named. */
function parse(words) {
    const values = [];
    const named = {};
    for (const word of words) {
        const equals = word.indexOf('=');
        if (equals < 0)
            values.push(word === '""' ? '' : ddblock.decode(word));
        else
            named[ddblock.decode(word.slice(0, equals))] =
                ddblock.decode(word.slice(equals + 1));
    }
    return [values, named];
}

function sayHold(name, hold) {
    holds.set(name, hold);
    say('ok', hold.reply.fields);
}

function sayReply(reply) {
    for (const row of reply.rows)
        say('row', row);
    say('ok', reply.fields);
}

function oneOrAll(keys) {
    return keys.length > 1 ? keys : keys[0];
}

/* Start a request: what to wait for, and what to do with it. */
function begin([verb, client, name, ...words], signal) {
    const [keys, named] = parse(words);
    if (verb === 'request')
        return [clients.get(client).start(name, keys[0],
            { ...named, signal }), sayReply];
    const word = { acquire: 'ACQUIRE', try: 'TRY' }[verb];
    return [clients.get(client).start(word, oneOrAll(keys),
        { ...named, signal }),
        (hold) => sayHold(name, hold)];
}

async function scope(client, key, fail) {
    try {
        const hold = await client.acquire(key);
        try {
            say('body', { state: (await client.get(key)).state });
            if (fail) {
                await client.request('RELEASE', null, { id: hold.id });
                throw new TypeError('the body');
            }
        } finally {
            // What `await using` does, where the language has it.
            const dispose = hold[Symbol.asyncDispose] ?? hold.release;
            await dispose.call(hold).catch((error) => {
                if (!fail)
                    throw error;
            });
        }
        say('ok');
    } catch (error) {
        if (!(error instanceof TypeError))
            throw error;
        say('error body');
    }
}

async function doEvent(name, wanted) {
    const queue = events.get(name);
    for (;;) {
        while (queue.length > 0) {
            const event = queue.shift();
            if (event.name === wanted) {
                say(`event ${wanted} ${nameOf(event.hold)}`, event.fields);
                return;
            }
        }
        await once(clients.get(name), 'event');
    }
}

const ofHold = {
    async release(hold, ...words) {
        await hold.release(parse(words)[1]);
        say('ok');
    },
    async renew(hold, ...words) {
        await hold.renew(parse(words)[1]);
        say('ok');
    },
    async lost(hold) {
        if (!hold.signal.aborted)
            await once(hold, 'lost');
        say('lost', { reason: hold.reason });
    },
    token: (hold, key) =>
        say(`token ${hold.tokenTexts.get(ddblock.decode(key)) ?? 0}`),
    count: (hold) => say(`count ${hold.count}`),
    valid: (hold) => say(hold.isValid() ? 'yes' : 'no'),
    until: (hold) => say(`until ${hold.untilBootMs}`),
};

const ofRequest = {
    begin: (name, ...words) => {
        const giveUp = new AbortController();
        started.set(name, [...begin(words, giveUp.signal), giveUp]);
        say('begun');
    },
    async end(name) {
        const [pending, then] = started.get(name);
        then(await pending.result);
    },
    async cancel(name) {
        say('ok', { cancelled: await started.get(name)[0].cancel() });
    },
    async abandon(name) {
        const [pending, , giveUp] = started.get(name);
        giveUp.abort();
        await pending.result.catch((error) =>
            say(error.name === 'AbortError' ? 'ok' : error.code));
    },
    async old(name) {
        await old[name](nextLine);
        say('done');
    },
};

const ofClient = {
    async open(name, ...words) {
        const hello = parse(words)[1];
        hello.resume = hello.resume === 'yes';
        const client = await ddblock.connect(hello);
        clients.set(name, client);
        events.set(name, []);
        client.on('event', (event) => events.get(name).push(event));
        say('ok', client.hello.fields);
    },
    close(name) {
        clients.get(name).close();
        say('ok');
    },
    async acquire(name, hold, ...words) {
        const [keys, named] = parse(words);
        sayHold(hold, await clients.get(name).acquire(oneOrAll(keys), named));
    },
    async try(name, hold, ...words) {
        const [keys, named] = parse(words);
        sayHold(hold, await clients.get(name).tryAcquire(oneOrAll(keys),
            named));
    },
    async get(name, ...words) {
        const [[key], named] = parse(words);
        say('ok', await clients.get(name).get(key, named));
    },
    async watch(name, ...words) {
        const [[key], named] = parse(words);
        say('ok', await clients.get(name).watch(key, named));
    },
    async unwatch(name, ...words) {
        const [[key], named] = parse(words);
        await clients.get(name).unwatch(key, named);
        say('ok');
    },
    async break(name, ...words) {
        const [[key, token, reason], named] = parse(words);
        say('ok', await clients.get(name).breakLock(key,
            token === '0' ? undefined : token, reason, named));
    },
    async request(name, verb, ...words) {
        const [[key], named] = parse(words);
        sayReply(await clients.get(name).request(verb, key, named));
    },
    event: doEvent,
    async resume(name, other, ...names) {
        const resumed = await clients.get(name).resume(
            clients.get(other).secret);
        names.forEach((each, i) => holds.set(each, resumed[i]));
        say('ok', { holds: resumed.length });
    },
    async status(name) {
        sayReply(await clients.get(name).status());
    },
    scope: (name, key, fail) => scope(clients.get(name), key, fail),
};

for (const verb of ['list', 'held', 'waiting']) {
    ofClient[verb] = async (name, ...words) => {
        for await (const row of clients.get(name)[verb](parse(words)[1]))
            say('row', row);
        say('ok');
    };
}

async function main() {
    for (let line; (line = await nextLine()) !== undefined;) {
        const [verb, ...words] = line.split(' ');
        try {
            if (verb in ofHold)
                await ofHold[verb](holds.get(words[0]), ...words.slice(1));
            else
                await { ...ofRequest, ...ofClient }[verb](...words);
        } catch (error) {
            if (!(error instanceof ddblock.DdblockError))
                throw error;
            say(`error ${error.code}`, error.fields);
        }
    }
    process.exit(0);
}

main();
