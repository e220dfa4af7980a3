// What a program must not write: the compiler refuses the lines that say so, and
// no other.
import { Client, connect, decode, DdblockError } from 'ddblock';
import { FailOpen } from 'ddblock/dynamodb-lock-client';

export async function report(): Promise<void> {
    const client = await connect();
    await connect('/run/socket'); // refused
    new Client('/run/socket'); // refused
    await client.acquire(); // refused
    await client.acquire({}); // refused
    await client.acquire('a', { wait: { seconds: 5 } }); // refused
    client.acquire('a').token; // refused
    (await client.acquire('a')).lease; // refused
    (await client.acquire('a')).token = 7; // refused
    (await client.request('STATUS')).release(); // refused
    (await client.acquire([7, 'a'])).tokens.get(7); // refused
    (await client.get('a')).token + 1; // refused
    (await client.get('a')).owner.length; // refused
    await client.resume(undefined); // refused
    await client.hold('a'); // refused
    for (const row of client.held()) // refused
        console.log(row);
    decode('a').trim(); // refused
    new DdblockError('LOCK_BUSY').kind; // refused
    await using lock = client.acquire('a'); // refused
}

export function moved(): void {
    new FailOpen({}); // refused
    const client = new FailOpen({ leaseDurationMs: 1e4 });
    client.acquireLock('a'); // refused
    client.acquireLock('a', (error, lock) => lock.release(() => {})); // refused
}
