package ddblock.dynamodbv2;

import ddblock.DdblockClient;
import ddblock.DdblockClient.DdblockException;
import ddblock.DdblockClient.Hold;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** What to acquire, and how long to wait: the holder's lease, and more. */
public class AcquireLockOptions {
    private static final long LEASE_MS = 20000; // of a holder just gone
    final Map<String, Object> arguments = new LinkedHashMap<>();
    String key;
    String sortKey;
    private boolean skipWait;
    boolean isDeleted = true;
    private long moreMs;
    private Long periodMs; // null: the daemon's
    Runnable monitor;

    private AcquireLockOptions() {
    }

    /** What to acquire: the lock of this key. */
    public static AcquireLockOptionsBuilder builder(String partitionKey) {
        var builder = new AcquireLockOptionsBuilder();
        builder.options.key = partitionKey;
        return builder;
    }

    Hold acquire(DdblockClient client, boolean isRenewed)
            throws InterruptedException {
        if (!isRenewed)
            arguments.put("renew", "manual");
        if (arguments.containsKey("wait"))
            return client.acquire(key, arguments);
        try {
            return client.tryAcquire(key, arguments);
        } catch (DdblockException e) {
            if (skipWait || !e.code().equals("LOCK_BUSY"))
                throw e;
        }
        var all = new LinkedHashMap<String, Object>(arguments);
        all.put("wait", Duration.ofMillis(leaseMs(client) + moreMs));
        if (periodMs != null)
            all.put("poll", Duration.ofMillis(periodMs));
        return client.acquire(key, all);
    }

    /** Of the present holder. */
    private long leaseMs(DdblockClient client)
            throws InterruptedException {
        var where = new HashMap<String, Object>(arguments);
        where.keySet().retainAll(Set.of("ns", "sort"));
        Duration lease = client.get(key, where).duration("lease");
        return lease == null ? LEASE_MS : lease.toMillis();
    }

    /** The options, one after another. */
    public static class AcquireLockOptionsBuilder {
        private final AcquireLockOptions options =
                new AcquireLockOptions();

        private TimeUnit unit = TimeUnit.MILLISECONDS;
        private long safe;
        private long more;
        private Long period;

        private AcquireLockOptionsBuilder() {
        }

        /** Of the times that follow or went before; else milliseconds. */
        public AcquireLockOptionsBuilder withTimeUnit(TimeUnit unit) {
            this.unit = unit;
            return this;
        }

        /** On top of the holder's lease. */
        public AcquireLockOptionsBuilder withAdditionalTimeToWaitForLock(
                Long time) {
            more = time;
            return this;
        }

        /** How often the store is asked; else as the daemon does. */
        public AcquireLockOptionsBuilder withRefreshPeriod(Long time) {
            period = time;
            return this;
        }

        /** If it is held, fail at once. */
        public AcquireLockOptionsBuilder withShouldSkipBlockingWait(
                boolean skip) {
            options.skipWait = skip;
            return this;
        }

        /**
         * Called, in a thread of its own, when the lock is lost or was not
         * renewed for the safe time; if that is 0, for what the daemon's
         * configuration says.
         */
        public AcquireLockOptionsBuilder withSessionMonitor(long safeTime,
                Optional<Runnable> callback) {
            safe = safeTime;
            options.monitor = callback.orElse(null);
            return this;
        }

        /** What the record says beside the lock; any bytes. */
        public AcquireLockOptionsBuilder withData(ByteBuffer data) {
            var bytes = new byte[data.remaining()];
            data.duplicate().get(bytes);
            return with("data", bytes);
        }

        /** If there are data, do they go? By default, yes. */
        public AcquireLockOptionsBuilder withReplaceData(boolean replace) {
            return with("replace_data", replace);
        }

        /** Attributes of the record, as texts. */
        public AcquireLockOptionsBuilder withAdditionalAttributes(
                Map<String, ?> attributes) {
            attributes.forEach((name, value) -> with("attr." + name,
                    value));
            return this;
        }

        /** Locks of one key are told apart by it. */
        public AcquireLockOptionsBuilder withSortKey(String sortKey) {
            options.sortKey = sortKey;
            return with("sort", sortKey);
        }

        /** The contents of the lock go when it is released. */
        public AcquireLockOptionsBuilder withDeleteLockOnRelease(
                boolean delete) {
            options.isDeleted = delete;
            return this;
        }

        /** Any argument of the protocol. */
        public AcquireLockOptionsBuilder with(String name, Object value) {
            options.arguments.put(name, value);
            return this;
        }

        /** The options, as they are now. */
        public AcquireLockOptions build() {
            if (safe > 0)
                with("danger", Duration.ofMillis(unit.toMillis(safe)));
            options.moreMs = unit.toMillis(more);
            options.periodMs = period == null ? null
                    : unit.toMillis(period);
            return options;
        }
    }
}
