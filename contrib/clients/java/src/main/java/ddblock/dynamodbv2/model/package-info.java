/** What the names of amazon-dynamodb-lock-client throw. */
package ddblock.dynamodbv2.model;
