'use strict';
// What the document of dynamodb-lock-client shows, by the old names.
// test_parity.py says when each is played, and what is to be seen.
const { once } = require('node:events');
const { createRequire } = require('node:module');
const folder = process.env.DDBLOCK_CLIENT;
const DynamoDBLockClient = folder
    ? createRequire(`${folder}/`)('ddblock/dynamodb-lock-client')
    : require('../../contrib/clients/javascript/dynamodb-lock-client.js');

const CONFIG = { heartbeatPeriodMs: 3e3, leaseDurationMs: 1e4 };
// One that is not there in a moment is not waited for.
const MOMENT = { ...CONFIG, leaseDurationMs: 50 };

function say(...words) {
    process.stdout.write(words.join(' ') + '\n');
}

/* The callback's arguments, whichever it was: [error, lock]. */
function acquire(client, id, opt = {}) {
    return new Promise((resolve) => {
        client.acquireLock(id, opt, (...said) => resolve(said));
    });
}

function release(lock) {
    return new Promise((resolve) => { lock.release(resolve); });
}

/* Usage, as it stands there. */
async function failOpen() {
    const failOpenClient = new DynamoDBLockClient.FailOpen(CONFIG);
    await new Promise((resolve) => {
        failOpenClient.acquireLock('my-fail-open-lock', (error, lock) => {
            if (error) {
                say(error);
                resolve();
                return;
            }
            say('acquired fail open lock with fencing token',
                lock.fencingToken);
            lock.on('error', () => say('failed to heartbeat!'));
            // do stuff
            lock.release((failure) => {
                say(failure ?? 'released fail open lock');
                resolve();
            });
        });
    });
    failOpenClient.close();
}

async function failClosed() {
    const failClosedClient = new DynamoDBLockClient.FailClosed(
        { acquirePeriodMs: 1e4 });
    await new Promise((resolve) => {
        failClosedClient.acquireLock('my-fail-closed-lock', (error, lock) => {
            if (error) {
                say(error);
                resolve();
                return;
            }
            say('acquired fail closed lock');
            // do stuff
            lock.release((failure) => {
                say(failure ?? 'released fail closed lock');
                resolve();
            });
        });
    });
    failClosedClient.close();
}

/* If the lock is not released, it will never be. */
async function notReleased(nextLine) {
    const config = { acquirePeriodMs: 50, owner: 'the owner', retryCount: 2 };
    const [one, two] = [1, 2].map(
        () => new DynamoDBLockClient.FailClosed(config));
    const [, lock] = await acquire(one, 'id');
    one.close();
    const [error] = await acquire(two, 'id');
    say(error.code, error.fields.owner.includes('/the owner:'));
    await nextLine();
    const [, again] = await acquire(two, 'id');
    say(again.fencingToken > lock.fencingToken, await release(again));
    two.close();
}

/* client.acquireLock(id, [opt], callback) */
async function locking() {
    const client = new DynamoDBLockClient.FailOpen({ ...CONFIG,
        owner: 'the owner' });
    const other = new DynamoDBLockClient.FailOpen({ ...MOMENT,
        retryCount: 2 });
    const never = new DynamoDBLockClient.FailOpen({ ...CONFIG,
        retryCount: 0 });
    const [, lock] = await acquire(client, 'id');
    for (const each of [other, never]) {
        const [error, none] = await acquire(each, 'id');
        say(error.code, none, error.fields.owner.includes('/the owner:'));
    }
    say(await release(lock));
    const [, again] = await acquire(other, 'id');
    say(again.fencingToken > lock.fencingToken);
    for (const each of [client, other, never])
        each.close();
}

/* opt.readLock */
async function readLock() {
    const clients = [1, 2, 3].map(
        () => new DynamoDBLockClient.FailOpen(MOMENT));
    const [one, two, writer] = clients;
    const [, first] = await acquire(one, 'id', { readLock: true });
    const [, second] = await acquire(two, 'id', { readLock: true });
    say((await acquire(writer, 'id'))[0].code);
    say(await release(first), await release(second));
    say((await acquire(writer, 'id'))[0]);
    clients.forEach((client) => client.close());
}

/* id: String|Buffer|Number */
async function ids() {
    const client = new DynamoDBLockClient.FailOpen(CONFIG);
    const other = new DynamoDBLockClient.FailOpen(MOMENT);
    for (const id of ['text', 7, Buffer.from([0, 0xff])]) {
        const [, lock] = await acquire(client, id);
        const [error] = await acquire(other, id);
        say(lock.hold.key, error.code);
    }
    client.close();
    other.close();
}

/* Heartbeats off: the lock expires, and nobody is told. */
async function heartbeatsOff() {
    const client = new DynamoDBLockClient.FailOpen({ leaseDurationMs: 200 });
    const other = new DynamoDBLockClient.FailOpen(CONFIG);
    const [, lock] = await acquire(client, 'id');
    const [, next] = await acquire(other, 'id');
    say(lock.hold.isValid(), next.hold.isValid());
    const error = await release(lock);
    say(error.code);
    client.close();
    other.close();
}

/* Heartbeats on: for as long as it takes. */
async function heartbeats(nextLine) {
    const client = new DynamoDBLockClient.FailOpen(CONFIG);
    const [, lock] = await acquire(client, 'id');
    lock.on('error', (error) => say(error.code));
    const until = lock.hold.untilBootMs;
    say('held', until);
    await nextLine();
    say(lock.hold.isValid(), lock.hold.untilBootMs > until);
    say(await release(lock));
    client.close();
}

/* trustLocalTime: what is known to be dead is not waited for, ever. */
async function deadHolder() {
    const config = { ...CONFIG, trustLocalTime: true };
    const client = new DynamoDBLockClient.FailOpen(config);
    const never = new DynamoDBLockClient.FailOpen({ ...config,
        retryCount: 0 });
    say((await acquire(never, 'two'))[0].code);
    say((await acquire(client, 'one'))[0]);
    say((await acquire(never, 'two'))[0]);
    client.close();
    never.close();
}

/* lock may emit an error event; a release may fail. */
async function errorEvent() {
    const client = new DynamoDBLockClient.FailOpen(CONFIG);
    const [, lock] = await acquire(client, 'id');
    const told = once(lock, 'error');
    say('held');
    const [error] = await told;
    say(error.code);
    say((await release(lock))?.code);
    client.close();
}

/* A daemon that is not there, and then there again. */
async function restarted(nextLine) {
    const client = new DynamoDBLockClient.FailOpen(CONFIG);
    const [, lock] = await acquire(client, 'id');
    say(await release(lock));
    await nextLine();
    const other = new DynamoDBLockClient.FailOpen(CONFIG);
    for (const each of [client, other])
        say((await acquire(each, 'id'))[0].code);
    await nextLine();
    for (const each of [client, other]) {
        const [error, again] = await acquire(each, 'id');
        say(error, await release(again));
        each.close();
        say((await acquire(each, 'id'))[0].code);
    }
}

module.exports = { failOpen, failClosed, notReleased, locking, readLock, ids,
    heartbeatsOff, heartbeats, deadHolder, errorEvent, restarted };
