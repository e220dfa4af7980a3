import ddblock.DdblockClient.DdblockException;
import ddblock.dynamodbv2.AcquireLockOptions;
import ddblock.dynamodbv2.AmazonDynamoDBLockClient;
import ddblock.dynamodbv2.AmazonDynamoDBLockClientOptions;
import ddblock.dynamodbv2.LockItem;
import ddblock.dynamodbv2.ReleaseLockOptions;
import ddblock.dynamodbv2.model.LockAlreadyOwnedException;
import ddblock.dynamodbv2.model.LockCurrentlyUnavailableException;
import ddblock.dynamodbv2.model.LockNotGrantedException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * What the document of amazon-dynamodb-lock-client shows, by the old names.
 * test_parity.py says when each is played, and what is to be seen.
 */
final class Old {
    private static final PrintStream OUT =
            new PrintStream(System.out, true, StandardCharsets.UTF_8);

    // Of the daemon, where an example waits for it.
    private static final long LEASE_NS = 1_000_000_000;

    private interface Example {
        void play() throws InterruptedException;
    }

    private static final Map<String, Example> EXAMPLES = Map.ofEntries(
            Map.entry("usage", Old::usageExample),
            Map.entry("timeout", Old::timeout),
            Map.entry("nonBlocking", Old::acquireLockNonBlocking),
            Map.entry("getLock", Old::getLock),
            Map.entry("heartbeat", Old::heartbeat),
            Map.entry("monitor", Old::monitor),
            Map.entry("sortKey", Old::sortKey),
            Map.entry("deletion", Old::deletion),
            Map.entry("manual", Old::manual),
            Map.entry("release", Old::release),
            Map.entry("unreachable", Old::unreachable),
            Map.entry("restart", Old::restart),
            Map.entry("refused", Old::refused),
            Map.entry("safeTime", Old::safeTime),
            Map.entry("monitors", Old::monitors),
            Map.entry("ownItem", Old::ownItem),
            Map.entry("closeLost", Old::closeLost));

    private Old() {
    }

    static void play(String name) throws InterruptedException {
        EXAMPLES.get(name).play();
    }

    private static AcquireLockOptions.AcquireLockOptionsBuilder moe() {
        return AcquireLockOptions.builder("Moe");
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String text(Optional<ByteBuffer> data) {
        return data.map(StandardCharsets.UTF_8::decode).map(Object::toString)
                .orElse("none");
    }

    /** Getting Started. */
    private static void usageExample() throws InterruptedException {
        final var client = new AmazonDynamoDBLockClient(
                AmazonDynamoDBLockClientOptions.builder()
                        .withOwnerName("usage")
                        .withCreateHeartbeatBackgroundThread(true).build());
        final Optional<LockItem> lockItem =
                client.tryAcquireLock(AcquireLockOptions.builder("Moe")
                        .build());
        if (lockItem.isPresent()) {
            OUT.println("Acquired lock!");
            OUT.println(client.getLock("Moe").getOwnerName()
                    .contains("/usage:"));
            client.releaseLock(lockItem.get());
        } else {
            OUT.println("Failed to acquire lock!");
        }
        OUT.println(client.getLock("Moe"));
        client.tryAcquireLock(AcquireLockOptions.builder("Moe").build());
        client.close();
        try (var next = new AmazonDynamoDBLockClient();
                var item = next.acquireLock(moe().build())) {
            OUT.println(item.getPartitionKey());
        }
    }

    /** Acquire lock with timeout: by both methods, and the positional one. */
    private static void timeout() throws InterruptedException {
        try (var lockClient = new AmazonDynamoDBLockClient();
                var other = new AmazonDynamoDBLockClient()) {
            LockItem lock = lockClient.acquireLock("Moe", "Test Data", 1, 5,
                    TimeUnit.SECONDS);
            var options = moe().withTimeUnit(TimeUnit.MILLISECONDS)
                    .withRefreshPeriod(10L)
                    .withAdditionalTimeToWaitForLock(50L).build();
            long start = System.nanoTime();
            try {
                other.acquireLock(options);
            } catch (LockNotGrantedException e) {
                OUT.println(e.code());
            }
            OUT.println(System.nanoTime() - start >= LEASE_NS + 50_000_000);
            OUT.println(other.tryAcquireLock(options).isPresent());
            try {
                lockClient.acquireLock(options);
            } catch (LockAlreadyOwnedException e) {
                OUT.println(e.code());
            }
            lock.close();
            OUT.println(other.tryAcquireLock(options).isPresent());
        }
    }

    /** Acquire lock without blocking the user thread. */
    private static void acquireLockNonBlocking() throws InterruptedException {
        try (var lockClient = new AmazonDynamoDBLockClient();
                var other = new AmazonDynamoDBLockClient()) {
            LockItem lock = lockClient.acquireLock(moe()
                    .withShouldSkipBlockingWait(false).build());
            var lockOptions = moe().withShouldSkipBlockingWait(true).build();
            try {
                other.acquireLock(lockOptions);
            } catch (LockCurrentlyUnavailableException e) {
                OUT.println(e.code());
            }
            lockClient.releaseLock(lock);
            OUT.println(other.acquireLock(lockOptions).isExpired());
        }
    }

    /** Read the data in a lock without acquiring it. */
    private static void getLock() throws InterruptedException {
        try (var lockClient = new AmazonDynamoDBLockClient();
                var other = new AmazonDynamoDBLockClient()) {
            OUT.println(other.getLock("Moe"));
            lockClient.acquireLock(moe().withData(bytes("Test Data"))
                    .withAdditionalAttributes(Map.of("stage", "first"))
                    .build());
            LockItem lock = other.getLock("Moe");
            OUT.println(text(lock.getData()) + " "
                    + lock.getAdditionalAttributes() + " "
                    + lock.isExpired());
        }
    }

    /** Send Automatic Heartbeats; and one that is not. */
    private static void heartbeat() throws InterruptedException {
        try (var lockClient = new AmazonDynamoDBLockClient();
                var lock = lockClient.acquireLock(moe().build())) {
            long until = lock.hold().untilBootMs();
            String version = lockClient.getLock("Moe")
                    .getRecordVersionNumber();
            OUT.println("held " + until);
            Driver.readLine();
            OUT.println(lock.isExpired() + " "
                    + (lock.hold().untilBootMs() > until) + " "
                    + !lockClient.getLock("Moe").getRecordVersionNumber()
                            .equals(version));
            lockClient.sendHeartbeat(lock);
            lock.sendHeartBeat();
        }
    }

    /** Without the thread, the lock is as old as its last heartbeat. */
    private static void manual() throws InterruptedException {
        var told = new CountDownLatch(1);
        try (var lockClient = new AmazonDynamoDBLockClient(
                AmazonDynamoDBLockClientOptions.builder()
                        .withCreateHeartbeatBackgroundThread(false).build());
                var other = new AmazonDynamoDBLockClient()) {
            LockItem lock = lockClient.acquireLock(moe().withSessionMonitor(0,
                    Optional.of(told::countDown)).build());
            long until = lock.hold().untilBootMs();
            OUT.println(told.await(1, TimeUnit.MINUTES) + " "
                    + lock.isExpired());
            lockClient.sendHeartbeat(lock);
            OUT.println(lock.hold().untilBootMs() > until);
            OUT.println(lock.hold().lost().join());
            OUT.println(other.tryAcquireLock(moe().build()).isPresent());
        }
    }

    /** A session monitor, which is warned or told of the loss. */
    private static void monitor() throws InterruptedException {
        var told = new CountDownLatch(1);
        try (var lockClient = new AmazonDynamoDBLockClient()) {
            var lock = lockClient.acquireLock(moe().withSessionMonitor(0,
                    Optional.of(told::countDown)).build());
            OUT.println("held");
            told.await(1, TimeUnit.MINUTES);
            OUT.println(told.getCount() == 0 && lock.isExpired() ? "lost"
                    : "danger");
            OUT.println(lockClient.releaseLock(lock));
        }
    }

    /** Locks of one key are told apart by sort keys. */
    private static void sortKey() throws InterruptedException {
        try (var lockClient = new AmazonDynamoDBLockClient()) {
            var lock = lockClient.acquireLock(moe().withSortKey("a").build());
            lockClient.acquireLock(moe().withSortKey("b").build());
            lockClient.acquireLock(moe().build());
            OUT.println(lock.getSortKey().orElse("none"));
            OUT.println(lockClient.getLock("Moe", Optional.of("c"))
                    .orElse(null));
        }
    }

    /** Data is kept, or goes with the lock; it is replaced, or is not. */
    private static void deletion() throws InterruptedException {
        try (var lockClient = new AmazonDynamoDBLockClient()) {
            lockClient.acquireLock(moe().withData(bytes("one")).build())
                    .close();
            OUT.println(lockClient.getLock("Moe"));
            lockClient.acquireLock(moe().withData(bytes("two"))
                    .withDeleteLockOnRelease(false).build()).close();
            var item = lockClient.acquireLock(moe().withData(bytes("three"))
                    .withReplaceData(false).build());
            OUT.println(text(item.getData()) + " "
                    + text(lockClient.getLock("Moe").getData()));
            item.close();
            OUT.println(lockClient.getLock("Moe"));
        }
    }

    /** The store does not answer a release: told, or not. */
    private static void unreachable() throws InterruptedException {
        try (var lockClient = new AmazonDynamoDBLockClient()) {
            var one = lockClient.acquireLock(AcquireLockOptions
                    .builder("one").build());
            var two = lockClient.acquireLock(AcquireLockOptions
                    .builder("two").build());
            OUT.println("held");
            Driver.readLine();
            OUT.println(lockClient.releaseLock(ReleaseLockOptions
                    .builder(one).withBestEffort(true).build()));
            try {
                lockClient.releaseLock(two);
            } catch (DdblockException e) {
                OUT.println(e.code());
            }
        }
    }

    /** Asks again while there is no connection. */
    private static LockItem untilConnected(AmazonDynamoDBLockClient lockClient,
            String key) throws InterruptedException {
        while (true) {
            try {
                return lockClient.acquireLock(AcquireLockOptions.builder(key)
                        .build());
            } catch (LockNotGrantedException e) {
                throw e;
            } catch (DdblockException e) {
                if (!e.code().equals("NO_DAEMON"))
                    throw e;
                Thread.sleep(10);
            }
        }
    }

    /** A client outlives its connection, with a lock and without one. */
    private static void restart() throws InterruptedException {
        var lockClient = new AmazonDynamoDBLockClient();
        var lock = lockClient.acquireLock(moe().build());
        OUT.println("held");
        Driver.readLine();
        var next = untilConnected(lockClient, "Curly");
        OUT.println(!lock.isExpired() + " " + !next.isExpired());
        lock.close();
        next.close();
        OUT.println("free");
        Driver.readLine();
        OUT.println(!untilConnected(lockClient, "Moe").isExpired());
        lockClient.close();
        lockClient.acquireLock(moe().build());
    }

    /** Only what others hold, or is not due, is a lock not granted. */
    private static void refused() throws InterruptedException {
        try (var lockClient = new AmazonDynamoDBLockClient()) {
            try {
                OUT.println(lockClient.tryAcquireLock(moe()
                        .with("mode", "none").build()).isPresent());
            } catch (LockNotGrantedException e) {
                OUT.println("not granted");
            } catch (DdblockException e) {
                OUT.println(e.code());
            }
            var hourly = moe().with("every", "1h").build();
            for (int i = 0; i < 2; i++) {
                var lock = lockClient.tryAcquireLock(hourly);
                OUT.println(lock.isPresent());
                lock.ifPresent(LockItem::close);
            }
        }
    }

    /** A session monitor with a safe time of its own. */
    private static void safeTime() throws InterruptedException {
        var told = new CountDownLatch(1);
        try (var lockClient = new AmazonDynamoDBLockClient();
                var lock = lockClient.acquireLock(moe()
                        .withSessionMonitor(1, Optional.of(told::countDown))
                        .withTimeUnit(TimeUnit.SECONDS).build())) {
            OUT.println("held");
            OUT.println(told.await(1, TimeUnit.MINUTES) + " "
                    + !lock.isExpired());
        }
    }

    /** No session monitor keeps another one from being told. */
    private static void monitors() throws InterruptedException {
        var told = new CountDownLatch(3);
        List<Runnable> callbacks = List.of(
                () -> {
                    told.countDown();
                    throw new IllegalStateException("of a callback");
                },
                () -> {
                    told.countDown();
                    try {
                        Thread.sleep(Long.MAX_VALUE);
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                },
                told::countDown);
        try (var lockClient = new AmazonDynamoDBLockClient()) {
            for (int i = 0; i < callbacks.size(); i++)
                lockClient.acquireLock(AcquireLockOptions.builder("Moe" + i)
                        .withSessionMonitor(0, Optional.of(callbacks.get(i)))
                        .build());
            OUT.println("held");
            OUT.println(told.await(1, TimeUnit.MINUTES));
        }
    }

    /** What getLock returns is released, if it is this client's. */
    private static void ownItem() throws InterruptedException {
        try (var lockClient = new AmazonDynamoDBLockClient();
                var other = new AmazonDynamoDBLockClient()) {
            var lock = lockClient.acquireLock(moe().withSortKey("a").build());
            var seen = other.getLock("Moe", Optional.of("a")).get();
            OUT.println(other.releaseLock(seen));
            seen.close();
            try {
                seen.sendHeartBeat();
            } catch (LockNotGrantedException e) {
                OUT.println(e.code());
            }
            OUT.println(lock.isExpired());
            var own = lockClient.getLock("Moe", Optional.of("a")).get();
            OUT.println(own == lock);
            OUT.println(lockClient.releaseLock(own) + " "
                    + lock.isExpired());
            OUT.println(lockClient.getLock("Moe", Optional.of("a"))
                    .orElse(null));
        }
    }

    /** The end of a block does not tell of a loss. */
    private static void closeLost() throws InterruptedException {
        try (var lockClient = new AmazonDynamoDBLockClient()) {
            var lock = lockClient.acquireLock(moe().build());
            OUT.println("held");
            OUT.println(lock.hold().lost().join());
            lock.close();
            OUT.println(lock.isExpired());
            OUT.println(lockClient.getLock("Moe"));
        }
    }

    /** What is lost is not released: it says so, or does its best. */
    private static void release() throws InterruptedException {
        try (var lockClient = new AmazonDynamoDBLockClient()) {
            var lock = lockClient.acquireLock(moe().build());
            OUT.println("held");
            OUT.println(lock.hold().lost().join());
            OUT.println(lockClient.releaseLock(lock));
            lock = lockClient.acquireLock(moe().build());
            OUT.println(lockClient.releaseLock(ReleaseLockOptions
                    .builder(lock).withBestEffort(true).build()));
        }
    }
}
