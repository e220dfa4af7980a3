package ddblock.dynamodbv2;

/** Options of a client; leases and heartbeats are the daemon's. */
public class AmazonDynamoDBLockClientOptions {
    String ownerName;
    boolean isRenewed = true;

    private AmazonDynamoDBLockClientOptions() {
    }

    /** Options, all of which may be left out. */
    public static AmazonDynamoDBLockClientOptionsBuilder builder() {
        return new AmazonDynamoDBLockClientOptionsBuilder();
    }

    /** The options, one after another. */
    public static class AmazonDynamoDBLockClientOptionsBuilder {
        private final AmazonDynamoDBLockClientOptions options =
                new AmazonDynamoDBLockClientOptions();

        private AmazonDynamoDBLockClientOptionsBuilder() {
        }

        /** Shown to others as HOST/NAME:PID. */
        public AmazonDynamoDBLockClientOptionsBuilder withOwnerName(
                String name) {
            options.ownerName = name;
            return this;
        }

        /** Without it, only sendHeartbeat renews locks. */
        public AmazonDynamoDBLockClientOptionsBuilder
                withCreateHeartbeatBackgroundThread(boolean create) {
            options.isRenewed = create;
            return this;
        }

        /** The options, as they are now. */
        public AmazonDynamoDBLockClientOptions build() {
            return options;
        }
    }
}
