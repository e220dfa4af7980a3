package ddblock.dynamodbv2.model;

import ddblock.DdblockClient.DdblockException;

/** Another holds the lock, and this was not to wait. */
public class LockCurrentlyUnavailableException extends LockNotGrantedException {
    private static final long serialVersionUID = 1;

    /** For an answer of the daemon. */
    public LockCurrentlyUnavailableException(DdblockException e) {
        super(e);
    }
}
