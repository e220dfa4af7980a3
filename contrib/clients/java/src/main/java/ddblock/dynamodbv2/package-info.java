/**
 * The names of amazon-dynamodb-lock-client, over a client of ddblockd. A
 * program that moves writes {@code ddblock.dynamodbv2} in its imports, where it
 * had {@code com.amazonaws.services.dynamodbv2}, and leaves out what is the
 * daemon's configuration: the client of DynamoDB, the table, leases and
 * heartbeats.
 */
package ddblock.dynamodbv2;
