// A process with one client of the npm package dynamodb-lock-client: FailOpen,
// or FailClosed with kind=fail-closed.
//
// Its lines, and what may be said to it, are described in
// tests/interop/peers.py.
"use strict";

process.env.AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE = "1";

const path = require("path");
const readline = require("readline");

// The packages are not beside this file, but in the build directory.
const modules = path.join(process.env.PEER_MODULES, "node_modules");
const AWS = require(path.join(modules, "aws-sdk"));
const { FailClosed, FailOpen } =
    require(path.join(modules, "dynamodb-lock-client"));

function wordsOf(line) {
  const bare = [];
  const named = {};
  for (const word of line.split(/\s+/).filter((w) => w !== "")) {
    const at = word.indexOf("=");
    if (at < 0) bare.push(decodeURIComponent(word));
    else named[word.slice(0, at)] = decodeURIComponent(word.slice(at + 1));
  }
  return { bare, named };
}

function say(word, bare, named = {}) {
  const text = [word].concat(bare.map(encodeURIComponent));
  for (const [name, value] of Object.entries(named)) {
    text.push(`${name}=${encodeURIComponent(String(value))}`);
  }
  process.stdout.write(text.join(" ") + "\n");
}

class Peer {
  constructor(options) {
    this.options = options;
    this.locks = new Map();
    const dynamodb = new AWS.DynamoDB.DocumentClient({
      endpoint: options.endpoint,
      region: process.env.AWS_REGION,
    });
    const config = {
      dynamodb,
      lockTable: options.table,
      partitionKey: options.key_attribute,
    };
    this.config = config;
    if (options.owner) config.owner = options.owner;
    if (options.kind === "fail-closed") {
      config.acquirePeriodMs = this.periodMs = Number(options.poll_ms);
      this.kind = FailClosed;
      return;
    }
    if (options.sort_attribute) config.sortKey = options.sort_attribute;
    config.leaseDurationMs = this.periodMs = Number(options.lease_ms);
    config.heartbeatPeriodMs = Number(options.heartbeat_ms);
    if (options.trust_local_time === "yes") config.trustLocalTime = true;
    this.kind = FailOpen;
  }

  // It is told how often to try again, not for how long, and has one guid for
  // all attempts of a call. A client of it keeps nothing from one to the next.
  client(waitMs) {
    const retryCount = Math.floor(waitMs / this.periodMs);
    return new this.kind({ ...this.config, retryCount });
  }

  acquire([key], named) {
    const wait = Number(named.wait_ms || 0);
    const end = process.hrtime.bigint() + BigInt(wait) * 1000000n;
    const { key_attribute, sort_attribute } = this.options;
    const id = sort_attribute
      ? { [key_attribute]: key, [sort_attribute]: named.sort || "-" }
      : key;
    const client = this.client(wait);
    const attempt = () => client.acquireLock(id, (error, lock) => {
      if (!error) return this.acquired(key, lock);
      if (error.code !== "FailedToAcquireLock") return this.failed(error);
      if (process.hrtime.bigint() >= end) return say("busy", [key]);
      // FailOpen has waited a lease already.
      return setTimeout(attempt, this.kind === FailClosed
        ? this.periodMs : 0);
    });
    attempt();
  }

  acquired(key, lock) {
    const held = { lock, lost: false };
    // After an error it renews no more.
    lock.on("error", () => { held.lost = true; });
    this.locks.set(key, held);
    const named = { version: lock._guid.toString("base64") };
    if (lock.fencingToken !== undefined) named.token = lock.fencingToken;
    say("acquired", [key], named);
  }

  release([key]) {
    const { lock } = this.locks.get(key);
    this.locks.delete(key);
    lock.release((error) =>
      (error ? this.failed(error) : say("released", [key])));
  }

  status([key]) {
    const held = this.locks.get(key);
    say(held && !held.lost ? "holds" : "lost", [key]);
  }

  failed(error) {
    say("error", [`${error.code || error.name}: ${error.message}`]);
  }
}

const VERBS = ["acquire", "release", "status"];
const peer = new Peer(wordsOf(process.argv.slice(2).join(" ")).named);
const lines = readline.createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { bare, named } = wordsOf(line);
  const verb = bare.shift();
  if (verb === "quit") process.exit(0);
  if (!VERBS.includes(verb)) return say("unsupported", [verb]);
  try {
    return peer[verb](bare, named);
  } catch (error) {
    return peer.failed(error);
  }
});
lines.on("close", () => process.exit(0));
say("ready", []);
