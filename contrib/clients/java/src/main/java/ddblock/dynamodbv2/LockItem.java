package ddblock.dynamodbv2;

import ddblock.DdblockClient.Fields;
import ddblock.DdblockClient.Hold;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** A lock that an AmazonDynamoDBLockClient holds, or has looked at. */
public class LockItem implements AutoCloseable {
    private final String key;
    private final String sortKey;
    private final Fields fields;
    private Hold hold;
    private boolean isDeleted; // its contents go with its release
    private boolean isKept;

    LockItem(String key, String sortKey, Fields fields) {
        this.key = key;
        this.sortKey = sortKey;
        this.fields = fields;
    }

    LockItem(AcquireLockOptions options, Hold hold) {
        this(options.key, options.sortKey, hold.fields());
        this.hold = hold;
        isDeleted = options.isDeleted;
        isKept = options.arguments.keySet().stream()
                .anyMatch(LockItem::isContent)
                || fields.names().stream().anyMatch(LockItem::isContent);
    }

    private static boolean isContent(String name) {
        return name.equals("data") || name.startsWith("attr.");
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

    /** The holder; null: this client itself, or none. */
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

    /** Renew it now. */
    public void sendHeartBeat() throws InterruptedException {
        hold.renew();
    }

    void release() {
        hold.release(isDeleted && isKept ? Map.of("keep", false)
                : Map.of());
    }

    @Override
    public void close() {
        release();
    }
}
