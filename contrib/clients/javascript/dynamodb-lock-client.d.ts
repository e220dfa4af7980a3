/*
 * The types of dynamodb-lock-client.js: the names of that library.
 */
/// <reference types="node" />
import { EventEmitter } from 'node:events';
import { DdblockError, Hold } from './ddblock.js';

/* What is not here is the daemon's configuration, and ignored. */
interface Config {
    /* Of the daemon's socket; the old library had none. */
    path?: string | undefined;
    owner?: string | undefined;
    retryCount?: number | undefined;
    [ignored: string]: unknown;
}

export interface FailOpenConfig extends Config {
    leaseDurationMs: number;
    /* Without it, a lock is held for leaseDurationMs. */
    heartbeatPeriodMs?: number | undefined;
}

export interface FailClosedConfig extends Config {
    acquirePeriodMs: number;
}

export interface LockOptions {
    readLock?: boolean | undefined;
}

export type LockCallback = (...result: [error: undefined, lock: Lock] |
    [error: DdblockError, lock: undefined]) => void;

declare class CallbackClient {
    acquireLock(id: string | number | Buffer, callback: LockCallback): void;
    acquireLock(id: string | number | Buffer, opt: LockOptions,
        callback: LockCallback): void;
    close(): void;
}

export class FailOpen extends CallbackClient {
    constructor(config: FailOpenConfig);
}

export class FailClosed extends CallbackClient {
    constructor(config: FailClosedConfig);
}

export class Lock extends EventEmitter<{ error: [error: DdblockError] }> {
    private constructor();
    readonly hold: Hold;
    readonly fencingToken: number;
    release(callback: (error?: DdblockError) => void): void;
}

export {};
