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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The old calls. The table, heartbeats and leases are the daemon's. Locks go on
 * after a restart of the daemon. When the connection has ended, the next call
 * makes another one; as long as there is none, calls fail with NO_DAEMON.
 */
public class AmazonDynamoDBLockClient implements AutoCloseable {
    private static final Duration LONG = Duration.ofDays(36500);
    private static final Set<String> NOT_OURS = Set.of("LOCK_LOST",
            "LOCK_STOLEN", "LOCK_NOT_OWNED", "NO_SUCH_LOCK");
    // The lock cannot be acquired, now or here; else the request failed.
    private static final Set<String> NOT_GRANTED = Set.of("ACQUIRE_TIMEOUT",
            "LOCK_BUSY", "ALREADY_HELD", "NOT_DUE", "NO_SUCH_LOCK",
            "WRONG_LIMIT", "DRAINING", "CANCELLED");
    private final Map<String, Object> greeting = new HashMap<>();
    private final Lock connecting = new ReentrantLock();
    // Null: its connection has ended.
    private final AtomicReference<DdblockClient> client =
            new AtomicReference<>();
    private volatile boolean isClosed;
    private final Map<Hold, Runnable> monitors = new ConcurrentHashMap<>();
    // Those that are held, by their names.
    private final Map<List<Object>, LockItem> items =
            new ConcurrentHashMap<>();
    private final boolean isRenewed;

    /** A connection to the daemon, without options. */
    public AmazonDynamoDBLockClient() throws InterruptedException {
        this(AmazonDynamoDBLockClientOptions.builder().build());
    }

    /** A connection to the daemon. */
    public AmazonDynamoDBLockClient(
            AmazonDynamoDBLockClientOptions options)
            throws InterruptedException {
        if (options.ownerName != null)
            greeting.put("name", options.ownerName);
        greeting.put("resume", true);
        isRenewed = options.isRenewed;
        connected();
    }

    /** The client with a connection, or with another one if that has ended. */
    private DdblockClient connected() throws InterruptedException {
        connecting.lockInterruptibly();
        try {
            var present = client.get();
            if (present != null)
                return present;
            var next = DdblockClient.connect(greeting);
            client.set(next);
            if (isClosed) // meanwhile
                next.close();
            startThread(() -> monitor(next));
            return next;
        } finally {
            connecting.unlock();
        }
    }

    private static void startThread(Runnable work) {
        var thread = new Thread(work, "ddblock session monitor");
        thread.setDaemon(true);
        thread.start();
    }

    private void monitor(DdblockClient present) {
        Event event;
        try {
            while ((event = present.nextEvent(LONG)) != null) {
                if (event.name().equals("LOCK_IN_DANGER")
                        && event.hold() != null)
                    warn(event.hold());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (!isClosed)
            client.compareAndSet(present, null);
    }

    /** Called once: the lock is not being renewed, or was lost. */
    private void warn(Hold hold) {
        Runnable callback = monitors.remove(hold);
        if (callback != null)
            startThread(callback); // it may take its time, or throw
    }

    private LockItem keep(AcquireLockOptions options, Hold hold) {
        var item = new LockItem(this, options, hold);
        items.put(item.name(), item);
        if (options.monitor != null)
            monitors.put(hold, options.monitor);
        hold.lost().thenRun(() -> {
            items.remove(item.name(), item);
            warn(hold);
        });
        return item;
    }

    /** The lock, unless others hold it for as long as this waits. */
    public LockItem acquireLock(AcquireLockOptions options)
            throws InterruptedException {
        try {
            return keep(options, options.acquire(connected(), isRenewed));
        } catch (DdblockException e) {
            if (!NOT_GRANTED.contains(e.code()))
                throw e;
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

    /** The same; empty where that throws LockNotGrantedException. */
    public Optional<LockItem> tryAcquireLock(AcquireLockOptions options)
            throws InterruptedException {
        try {
            return Optional.of(acquireLock(options));
        } catch (LockNotGrantedException e) {
            return Optional.empty();
        }
    }

    /**
     * The holder and the contents of a lock; null: it has neither. Of what this
     * client holds it is the item that was acquired.
     */
    public LockItem getLock(String key) throws InterruptedException {
        return getLock(key, Optional.empty()).orElse(null);
    }

    /** The same; empty: it has neither. */
    public Optional<LockItem> getLock(String key, Optional<String> sortKey)
            throws InterruptedException {
        var fields = connected().get(key, sortKey.isEmpty() ? Map.of()
                : Map.of("sort", sortKey.get()));
        var item = new LockItem(this, key, sortKey.orElse(null), fields);
        var own = items.get(item.name());
        if (own != null && !own.isExpired()) {
            own.look(fields);
            return Optional.of(own);
        }
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
        var item = options.item;
        if (item.hold() == null)
            return false;
        monitors.remove(item.hold());
        items.remove(item.name(), item);
        try {
            item.release();
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
        isClosed = true;
        var present = client.get();
        if (present != null)
            present.close();
    }
}
