package ddblock.dynamodbv2;

import ddblock.DdblockClient.DdblockException;
import ddblock.DdblockClient.Fields;
import ddblock.DdblockClient.Hold;
import ddblock.dynamodbv2.model.LockNotGrantedException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A lock that an AmazonDynamoDBLockClient holds, or has looked at. */
public class LockItem implements AutoCloseable {
    private final AmazonDynamoDBLockClient client;
    private final String key;
    private final String sortKey;
    private volatile Fields fields;
    private Object ns; // null: the daemon's first
    private Hold hold;
    private boolean isDeleted; // its contents go with its release
    private boolean isKept;

    LockItem(AmazonDynamoDBLockClient client, String key, String sortKey,
            Fields fields) {
        this.client = client;
        this.key = key;
        this.sortKey = sortKey;
        this.fields = fields;
    }

    LockItem(AmazonDynamoDBLockClient client, AcquireLockOptions options,
            Hold hold) {
        this(client, options.key, options.sortKey, hold.fields());
        this.hold = hold;
        ns = options.arguments.get("ns");
        isDeleted = options.isDeleted;
        isKept = options.arguments.keySet().stream()
                .anyMatch(LockItem::isContent)
                || fields.names().stream().anyMatch(LockItem::isContent);
    }

    private static boolean isContent(String name) {
        return name.equals("data") || name.startsWith("attr.");
    }

    /** By what a client knows its own. */
    List<Object> name() {
        return Arrays.asList(ns, key, sortKey);
    }

    /** What is known of it now. */
    void look(Fields said) {
        fields = said;
    }

    /** Null: it was only looked at. */
    public Hold hold() {
        return hold;
    }

    /** The key. */
    public String getPartitionKey() {
        return key;
    }

    /** The sort key; empty: none. */
    public Optional<String> getSortKey() {
        return Optional.ofNullable(sortKey);
    }

    /** The holder; null: none, or this client, which has not looked. */
    public String getOwnerName() {
        return fields.get("owner");
    }

    /** It changes with each heartbeat; null: as getOwnerName(). */
    public String getRecordVersionNumber() {
        return fields.get("version");
    }

    /** Is it not held, or not any more? */
    public boolean isExpired() {
        return hold == null ? !"held".equals(fields.get("state"))
                : !hold.isValid();
    }

    /** The contents of the lock when it was granted, or looked at. */
    public Optional<ByteBuffer> getData() {
        return Optional.ofNullable(fields.bytes("data"))
                .map(ByteBuffer::wrap);
    }

    /** Earlier attributes, too. Other types are in DynamoDB's JSON. */
    public Map<String, String> getAdditionalAttributes() {
        var attributes = new LinkedHashMap<String, String>();
        for (String name : fields.names()) {
            if (name.startsWith("attr."))
                attributes.put(name.substring(5).replaceFirst(":json$",
                        ""), fields.get(name));
        }
        return attributes;
    }

    /** Renew it now, if it is this client's. */
    public void sendHeartBeat() throws InterruptedException {
        if (hold == null)
            throw new LockNotGrantedException(new DdblockException(
                    "LOCK_NOT_OWNED", "it was only looked at", fields));
        hold.renew();
    }

    void release() {
        hold.release(isDeleted && isKept ? Map.of("keep", false)
                : Map.of());
    }

    /** Release it, if it is still this client's. */
    @Override
    public void close() {
        client.releaseLock(this);
    }
}
