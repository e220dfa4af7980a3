/** Locks of this host or of a fleet: a client of ddblockd. */
package ddblock;
