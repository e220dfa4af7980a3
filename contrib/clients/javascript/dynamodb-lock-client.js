'use strict';
/*
 * The names of dynamodb-lock-client, over ddblockd.
 *
 *     const { FailOpen } = require('ddblock/dynamodb-lock-client');
 *
 *     const client = new FailOpen({
 *         heartbeatPeriodMs: 3e3, leaseDurationMs: 1e4 });
 *     client.acquireLock('jobs/nightly', (error, lock) => {
 *         ...
 *         lock.release((failure) => { ... });
 *     });
 *
 * For programs that move. The table, heartbeats and leases are the daemon's
 * configuration; lock.hold is the hold of the client beneath. Without the
 * package, copy this file with ddblock.js.
 */
const { EventEmitter } = require('node:events');
const { connect, DdblockError } = require('./ddblock.js');

/*
 * The lock of a FailOpen or FailClosed client. 'error': the renewal fails, or
 * the lock was lost. Without heartbeats it is emitted only if there is a
 * listener; other users would not expect it.
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
 * owner, retryCount and the period are used: they say how long acquireLock
 * waits.
 */
class CallbackClient {
    #args;
    #beneath; // a promise of it
    #hello;
    #isClosed = false;
    #isRenewed;

    constructor(periodMs, { path, owner, retryCount = 1 }, args,
        isRenewed) {
        this.#args = { ...args,
            wait: `${Math.round(periodMs * retryCount)}ms` };
        this.#isRenewed = isRenewed;
        this.#hello = { path, name: owner, resume: true };
    }

    /* The client beneath; another, if there is none yet or it has ended. */
    async #client() {
        while (!this.#isClosed) {
            const beneath = this.#beneath ??= connect(this.#hello);
            const client = await beneath.catch((error) => {
                this.#forget(beneath);
                throw error;
            });
            if (client.ended === undefined) {
                client.unref(); // programs that move do not close it
                return client;
            }
            this.#forget(beneath);
        }
        throw new DdblockError('NO_DAEMON', 'the client was closed');
    }

    /* Unless there is another already. */
    #forget(beneath) {
        if (this.#beneath === beneath)
            this.#beneath = undefined;
    }

    /* An id that is a Buffer is the key of its hexadecimal digits. */
    acquireLock(id, opt, callback = opt) {
        const args = { ...this.#args };
        if (opt.readLock)
            args.mode = 'shared';
        const key = Buffer.isBuffer(id) ? id.toString('hex') : id;
        this.#client().then((client) => client.acquire(key, args)).then(
            (hold) => callback(undefined, new Lock(hold, this.#isRenewed)),
            callback);
    }

    /* The old client had no end. */
    close() {
        this.#isClosed = true;
        this.#beneath?.then((client) => client.close(), () => {});
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

/*
 * A lock that is not released stays locked, until an administrator breaks it.
 */
class FailClosed extends CallbackClient {
    constructor(config) {
        super(config.acquirePeriodMs, config, { policy: 'fail-closed' },
            false);
    }
}

module.exports = { FailOpen, FailClosed, Lock };
