package ddblock.dynamodbv2.model;

import ddblock.DdblockClient.DdblockException;

/** The lock was not granted; {@code code()} says why. */
public class LockNotGrantedException extends DdblockException {
    private static final long serialVersionUID = 1;

    /** For an answer of the daemon. */
    public LockNotGrantedException(DdblockException e) {
        super(e.code(), e.text(), e.fields());
    }
}
