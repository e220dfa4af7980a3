// What a program may write: the compiler accepts all of it, as strict as it is.
import ddblock, { connect, DdblockError, type Fields, type Hold }
    from 'ddblock';
import { FailOpen, FailClosed, type Lock } from 'ddblock/dynamodb-lock-client';

async function report(): Promise<number> {
    const client: ddblock.Client = await connect({ name: 'report',
        resume: true });
    client.on('event', ({ name, fields, hold }) =>
        console.log(name, fields.reason, hold?.key));
    client.on('close', (error) => console.log(error.code));
    client.unref();
    const over: DdblockError | undefined = client.ended;
    const hold = await client.acquire('jobs/nightly', { wait: '30s' });
    hold.on('lost', (fields: Fields) => console.log(fields.reason));
    await fetch('http://localhost/', { signal: hold.signal });
    await hold.renew();
    await hold.release({ data: Buffer.from([0]) });
    const giveUp = new AbortController();
    const several: Hold = await client.tryAcquire(['a', Buffer.from('b')], {
        every: '23h', counts: 'succeeded', at_least: undefined,
        'attr.stage': 'first', signal: giveUp.signal });
    const tokens: number[] = [...several.tokens.values()];
    const first: number | undefined = several.tokens.get('a');
    const pending = client.start('ACQUIRE', 'a');
    const late: boolean = await pending.cancel();
    const resumed: Hold[] = client.secret === undefined ? []
        : await client.resume(client.secret);
    const fields = await client.get('a');
    const owner: string = fields.owner?.toString() ?? 'free';
    const state: string | undefined = fields.state;
    for await (const row of client.list({ prefix: 'jobs/' }))
        console.log(row.key);
    const reply = await client.request('NEWVERB', 'a', { argument: 1 });
    console.log(tokens, first, late, resumed, owner, state,
        reply.rows[0]?.id, over?.code);
    await using second = await client.acquire('b');
    return second.token;
}

function moved(): void {
    const client = new FailOpen({ leaseDurationMs: 1e4, heartbeatPeriodMs: 3e3,
        lockTable: 'locks' });
    client.acquireLock('id', { readLock: true }, (error, lock) => {
        if (error) {
            console.log(error.code);
            return;
        }
        const token: number = lock.fencingToken + lock.hold.token;
        lock.on('error', (trouble) => console.log(trouble.code, token));
        lock.release((failure) => console.log(failure?.code));
    });
    const known: Lock[] = [];
    new FailClosed({ acquirePeriodMs: 1e4 }).acquireLock(Buffer.from([7]),
        (error, lock) => { if (!error) known.push(lock); });
    client.close();
}

report().then(moved, (error: unknown) => {
    if (error instanceof DdblockError)
        console.log(error.code, error.cause, error.fields.owner);
});
