package ddblock.dynamodbv2;

/** How to release a lock. */
public class ReleaseLockOptions {
    final LockItem item;
    boolean isBestEffort;

    private ReleaseLockOptions(LockItem item) {
        this.item = item;
    }

    /** How to release this one. */
    public static ReleaseLockOptionsBuilder builder(LockItem item) {
        return new ReleaseLockOptionsBuilder(new ReleaseLockOptions(item));
    }

    /** The options, one after another. */
    public static class ReleaseLockOptionsBuilder {
        private final ReleaseLockOptions options;

        private ReleaseLockOptionsBuilder(ReleaseLockOptions options) {
            this.options = options;
        }

        /** On any failure: the lock is not ours any more. */
        public ReleaseLockOptionsBuilder withBestEffort(boolean bestEffort) {
            options.isBestEffort = bestEffort;
            return this;
        }

        /** The options, as they are now. */
        public ReleaseLockOptions build() {
            return options;
        }
    }
}
