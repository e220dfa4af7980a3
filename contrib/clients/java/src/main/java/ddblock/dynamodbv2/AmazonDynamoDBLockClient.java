package ddblock.dynamodbv2;

import ddblock.DdblockClient;
import ddblock.DdblockClient.DdblockException;
import ddblock.DdblockClient.Event;
import ddblock.DdblockClient.Hold;
import ddblock.dynamodbv2.model.LockAlreadyOwnedException;
import ddblock.dynamodbv2.model.LockCurrentlyUnavailableException;
import ddblock.dynamodbv2.model.LockNotGrantedException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** The old calls. The table, heartbeats and leases are the daemon's. */
public class AmazonDynamoDBLockClient implements AutoCloseable {
    private static final Duration LONG = Duration.ofDays(36500);
    private final DdblockClient client;
    private static final Set<String> NOT_OURS = Set.of("LOCK_LOST",
            "LOCK_STOLEN", "LOCK_NOT_OWNED", "NO_SUCH_LOCK");
    private final Map<Hold, Runnable> monitors = new ConcurrentHashMap<>();
    private final boolean isRenewed;

    /** A connection to the daemon, without options. */
    public AmazonDynamoDBLockClient() throws InterruptedException {
        this(AmazonDynamoDBLockClientOptions.builder().build());
    }

    /** A connection to the daemon. */
    public AmazonDynamoDBLockClient(
            AmazonDynamoDBLockClientOptions options)
            throws InterruptedException {
        client = DdblockClient.connect(options.ownerName == null ? Map.of()
                : Map.of("name", options.ownerName));
        isRenewed = options.isRenewed;
        var thread = new Thread(this::monitor, "ddblock session monitor");
        thread.setDaemon(true);
        thread.start();
    }

    private void monitor() {
        Event event;
        try {
            while ((event = client.nextEvent(LONG)) != null) {
                if (event.name().equals("LOCK_IN_DANGER")
                        && event.hold() != null)
                    warn(event.hold());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Called once: the lock is not being renewed, or was lost. */
    private void warn(Hold hold) {
        Runnable callback = monitors.remove(hold);
        if (callback != null)
            callback.run();
    }

    /** The lock, unless others hold it for as long as this waits. */
    public LockItem acquireLock(AcquireLockOptions options)
            throws InterruptedException {
        try {
            var hold = options.acquire(client, isRenewed);
            if (options.monitor != null) {
                monitors.put(hold, options.monitor);
                hold.lost().thenRun(() -> warn(hold));
            }
            return new LockItem(options, hold);
        } catch (DdblockException e) {
            throw switch (e.code()) {
                case "LOCK_BUSY" ->
                    new LockCurrentlyUnavailableException(e);
                case "ALREADY_HELD" -> new LockAlreadyOwnedException(e);
                default -> new LockNotGrantedException(e);
            };
        }
    }

    /** The same, with times in this unit. */
    public LockItem acquireLock(String key, String data,
            long refreshPeriod, long additionalTime, TimeUnit unit)
            throws InterruptedException {
        return acquireLock(AcquireLockOptions.builder(key)
                .withData(ByteBuffer.wrap(data.getBytes(
                        StandardCharsets.UTF_8)))
                .withRefreshPeriod(refreshPeriod)
                .withAdditionalTimeToWaitForLock(additionalTime)
                .withTimeUnit(unit).build());
    }

    /** The same; empty where that throws. */
    public Optional<LockItem> tryAcquireLock(AcquireLockOptions options)
            throws InterruptedException {
        try {
            return Optional.of(acquireLock(options));
        } catch (LockNotGrantedException e) {
            return Optional.empty();
        }
    }

    /** The holder and the contents of a lock; null: it has neither. */
    public LockItem getLock(String key) throws InterruptedException {
        return getLock(key, Optional.empty()).orElse(null);
    }

    /** The same; empty: it has neither. */
    public Optional<LockItem> getLock(String key, Optional<String> sortKey)
            throws InterruptedException {
        var fields = client.get(key, sortKey.isEmpty() ? Map.of()
                : Map.of("sort", sortKey.get()));
        var item = new LockItem(key, sortKey.orElse(null), fields);
        return "free".equals(fields.get("state"))
                && item.getData().isEmpty()
                && item.getAdditionalAttributes().isEmpty()
                ? Optional.empty() : Optional.of(item);
    }

    /** Renew a lock now. */
    public void sendHeartbeat(LockItem item) throws InterruptedException {
        item.sendHeartBeat();
    }

    /** Was the lock still ours? */
    public boolean releaseLock(LockItem item) {
        return releaseLock(ReleaseLockOptions.builder(item).build());
    }

    /** Was the lock still ours, or is there best effort? */
    public boolean releaseLock(ReleaseLockOptions options) {
        monitors.remove(options.item.hold());
        try {
            options.item.release();
            return true;
        } catch (DdblockException e) {
            if (!options.isBestEffort && !NOT_OURS.contains(e.code()))
                throw e;
            return false;
        }
    }

    /** The end of a connection releases its locks. */
    @Override
    public void close() {
        client.close();
    }
}
