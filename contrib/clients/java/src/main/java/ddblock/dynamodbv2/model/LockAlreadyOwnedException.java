package ddblock.dynamodbv2.model;

import ddblock.DdblockClient.DdblockException;

/** This very client holds the lock. */
public class LockAlreadyOwnedException extends LockNotGrantedException {
    private static final long serialVersionUID = 1;

    /** For an answer of the daemon. */
    public LockAlreadyOwnedException(DdblockException e) {
        super(e);
    }
}
