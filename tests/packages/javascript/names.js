'use strict';
// The names that the types of the package declare, and those that are there, of
// a client that is connected: {module: {name: [declared, there]}} as JSON.
//
//     node names.js PROJECT TYPESCRIPT
const { createRequire } = require('node:module');
const [project, typescript] = process.argv.slice(2);
const ts = require(typescript);
const require_ = createRequire(`${project}/`);
const NOT_OURS = ['constructor', 'message', 'name', 'stack'];

/* A class of the package, with what it has from others of it. */
function declared(checker, symbol) {
    return checker.getDeclaredTypeOfSymbol(symbol).getProperties()
        .filter((each) => each.declarations.some((declaration) =>
            declaration.getSourceFile().fileName.includes('/ddblock/') &&
            !(ts.getCombinedModifierFlags(declaration) &
                ts.ModifierFlags.Private)))
        .map((each) => each.name.replace(/^__@(\w+)@\d+$/, 'Symbol.$1')).sort();
}

/* The members of an instance, until those of Node begin. */
function there(instance) {
    const names = new Set();
    for (let each = instance; !['EventEmitter', 'Error', 'Object'].includes(
        each.constructor.name) || each === instance;
        each = Object.getPrototypeOf(each)) {
        if (each === instance && !(instance instanceof Error)) {
            Object.keys(each).forEach((name) => names.add(name));
            continue;
        }
        Object.getOwnPropertyNames(each).forEach((name) => names.add(name));
        Object.getOwnPropertySymbols(each).forEach((symbol) =>
            names.add(symbol === Symbol.asyncDispose ? 'Symbol.asyncDispose'
                : symbol.description));
    }
    const emitter = Object.keys(new (require('node:events'))());
    return [...names].filter((name) => !name.startsWith('_') &&
        !NOT_OURS.includes(name) && !emitter.includes(name)).sort();
}

async function instances() {
    const ddblock = require_('ddblock');
    const moved = require_('ddblock/dynamodb-lock-client');
    const client = await ddblock.connect();
    const hold = await client.acquire('names');
    const failOpen = new moved.FailOpen({ leaseDurationMs: 1e4 });
    const lock = await new Promise((resolve, reject) => {
        failOpen.acquireLock('moved', (error, got) =>
            (error ? reject(error) : resolve(got)));
    });
    return [
        ['ddblock', ddblock, { Client: client, Hold: hold,
            DdblockError: new ddblock.DdblockError('LOCK_BUSY') }],
        ['ddblock/dynamodb-lock-client', moved, { Lock: lock,
            FailOpen: failOpen,
            FailClosed: new moved.FailClosed({ acquirePeriodMs: 1 }) }],
    ];
}

async function main() {
    const said = {};
    for (const [name, real, objects] of await instances()) {
        const file = require_.resolve(name).replace(/\.js$/, '.d.ts');
        const program = ts.createProgram([file], { types: [],
            target: ts.ScriptTarget.ESNext });
        const checker = program.getTypeChecker();
        const symbols = checker.getExportsOfModule(
            checker.getSymbolAtLocation(program.getSourceFile(file)))
            .filter((each) => each.flags & ts.SymbolFlags.Value);
        const module = { exports: [symbols.map((each) => each.name).sort(),
            Object.keys(real).sort()] };
        for (const [kind, object] of Object.entries(objects)) {
            const symbol = symbols.find((each) => each.name === kind);
            module[kind] = [symbol ? declared(checker, symbol) : [],
                there(object)];
        }
        said[name] = module;
    }
    process.stdout.write(JSON.stringify(said));
    process.exit(0);
}

main();
