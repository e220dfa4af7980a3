/** Locks of this host or of a fleet: a client of ddblockd. */
module ddblock {
    exports ddblock;
    exports ddblock.dynamodbv2;
    exports ddblock.dynamodbv2.model;
}
