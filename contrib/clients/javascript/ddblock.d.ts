/*
 * The types of ddblock.js, whose comments say what each does.
 */
/// <reference types="node" />
import { EventEmitter } from 'node:events';

export type Key = string | number | Uint8Array;
/* Several: all of these locks as one. */
export type Keys = Key | readonly Key[];

/* Of an argument; a number is one of seconds where a duration is meant. */
export type Value = string | number | boolean | Uint8Array | readonly string[] |
    null | undefined;

export interface Arguments {
    [name: string]: Value;
}

export interface RequestArguments {
    /* Gives the request up; a late grant is released. */
    signal?: AbortSignal | undefined;
    [name: string]: Value | AbortSignal;
}

/* What comes is text, or a Buffer if it is not UTF-8. These are always text. */
export interface Fields {
    readonly id?: string;
    readonly ns?: string;
    readonly token?: string;
    readonly token_text?: string;
    readonly mode?: string;
    readonly state?: string;
    readonly count?: string;
    readonly reason?: string;
    readonly cause?: string;
    readonly held?: string;
    readonly remaining?: string;
    readonly until_boot_ms?: string;
    readonly [name: string]: string | Buffer | undefined;
}

export interface Reply {
    readonly fields: Fields;
    readonly text: string;
    readonly rows: readonly Fields[];
}

/* A request under way. */
export interface Pending<T> {
    readonly tag: string;
    readonly result: Promise<T>;
    /* Give it up: it fails with CANCELLED, unless it was late (false). */
    cancel(): Promise<boolean>;
}

export interface Event {
    readonly name: string;
    readonly fields: Fields;
    readonly hold: Hold | undefined;
}

export class DdblockError extends Error {
    constructor(code: string, text?: string, fields?: Fields);
    readonly code: string;
    readonly text: string;
    readonly fields: Fields;
    readonly cause: string | undefined;
}

export interface HoldEvents {
    danger: [fields: Fields];
    safe: [fields: Fields];
    lost: [fields: Fields];
}

export class Hold extends EventEmitter<HoldEvents> {
    private constructor();
    readonly key: Keys;
    readonly reply: Reply;
    readonly id: string;
    /* Of several locks, that of the first; `tokenText` has it in full. */
    readonly token: number;
    readonly tokenText: string;
    /* By the text of each key: that of 7 is '7'. */
    readonly tokens: ReadonlyMap<string, number>;
    readonly tokenTexts: ReadonlyMap<string, string>;
    readonly mode: string;
    readonly ns: string;
    readonly isManual: boolean;
    readonly untilBootMs: number;
    readonly endBootMs: number;
    readonly marginMs: number;
    /* Of the loss. */
    readonly reason: string | undefined;
    readonly count: number;
    get isReleased(): boolean;
    /* Aborted when the hold is lost. */
    get signal(): AbortSignal;
    isValid(): boolean;
    remainingMs(): number;
    release(args?: Arguments): Promise<void>;
    renew(args?: Arguments): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}

export interface ClientEvents {
    event: [event: Event];
    broken: [];
    resumed: [];
    close: [error: DdblockError];
}

export class Client extends EventEmitter<ClientEvents> {
    private constructor();
    readonly hello: Reply;
    readonly defaultNs: string;
    /* Brings holds back on another connection. Undefined until the first grant
     * that can be resumed. */
    readonly secret: string | undefined;
    /* Why the client is over, which it stays; undefined: it is not. */
    get ended(): DdblockError | undefined;
    /* An idle client keeps the process alive no more. */
    unref(): void;
    close(): void;
    start(verb: 'ACQUIRE' | 'TRY', key: Keys, args?: RequestArguments):
        Pending<Hold>;
    start(verb: 'RESUME', key: null | undefined, args: RequestArguments):
        Pending<Hold[]>;
    start(verb: string, key?: Keys | null, args?: RequestArguments):
        Pending<Reply>;
    request(verb: 'ACQUIRE' | 'TRY', key: Keys, args?: RequestArguments):
        Promise<Hold>;
    request(verb: 'RESUME', key: null | undefined, args: RequestArguments):
        Promise<Hold[]>;
    request(verb: string, key?: Keys | null, args?: RequestArguments):
        Promise<Reply>;
    acquire(key: Keys, args?: RequestArguments): Promise<Hold>;
    tryAcquire(key: Keys, args?: RequestArguments): Promise<Hold>;
    resume(secret: string): Promise<Hold[]>;
    get(key: Keys, args?: RequestArguments): Promise<Fields>;
    watch(key: Keys, args?: RequestArguments): Promise<Fields>;
    unwatch(key: Keys, args?: RequestArguments): Promise<void>;
    breakLock(key: Keys, token: number | string | null | undefined,
        reason: string, args?: RequestArguments): Promise<Fields>;
    list(args?: Arguments): AsyncGenerator<Fields, void, undefined>;
    held(args?: Arguments): AsyncGenerator<Fields, void, undefined>;
    waiting(args?: Arguments): AsyncGenerator<Fields, void, undefined>;
    status(): Promise<Reply>;
    [Symbol.asyncDispose](): Promise<void>;
}

export interface ConnectOptions {
    /* Of the socket; without it $DDBLOCK_SOCKET, or the daemon's usual one. */
    path?: string | undefined;
    /* Connect again when the daemon ends the connection. */
    resume?: boolean | undefined;
    name?: string | undefined;
    [name: string]: Value;
}

export function connect(options?: ConnectOptions): Promise<Client>;

/* A value in its form on the wire, and back. */
export function encode(value: Value): string;
export function decode(text: string): string | Buffer;
