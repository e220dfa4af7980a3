/*
 * A process with one client of com.amazonaws:dynamodb-lock-client.
 *
 * Its lines, and what may be said to it, are described in
 * tests/interop/peers.py.
 */
import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClientOptions;
import com.amazonaws.services.dynamodbv2.CreateDynamoDBTableOptions;
import com.amazonaws.services.dynamodbv2.LockItem;
import com.amazonaws.services.dynamodbv2.ReleaseLockOptions;
import com.amazonaws.services.dynamodbv2.SendHeartbeatOptions;
import com.amazonaws.services.dynamodbv2.model
    .LockCurrentlyUnavailableException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.ProvisionedThroughput;

public final class Peer {
	/** A line, or the program's arguments, taken apart. */
	private static final class Words {
		final List<String> bare = new ArrayList<>();
		final Map<String, String> named = new TreeMap<>();

		Words(String[] words) {
			for (String word : words) {
				int at = word.indexOf('=');
				if (at < 0)
					bare.add(decode(word));
				else
					named.put(word.substring(0, at),
					    decode(word.substring(at + 1)));
			}
		}

		boolean yes(String name) {
			return "yes".equals(named.get(name));
		}

		long number(String name, long otherwise) {
			String value = named.get(name);
			return value == null ? otherwise
			    : Long.parseLong(value);
		}

		Optional<ByteBuffer> data() {
			return Optional.ofNullable(named.get("data")).map(
			    d -> ByteBuffer.wrap(HexFormat.of().parseHex(d)));
		}

		Map<String, AttributeValue> attributes() {
			Map<String, AttributeValue> found = new HashMap<>();
			named.forEach((name, value) -> {
				if (!name.startsWith("attr."))
					return;
				name = name.substring("attr.".length());
				if (name.endsWith(":n"))
					found.put(name.substring(0,
					    name.length() - 2),
					    AttributeValue.fromN(value));
				else
					found.put(name,
					    AttributeValue.fromS(value));
			});
			return found;
		}
	}

	private final DynamoDbClient dynamodb;
	private final AmazonDynamoDBLockClient client;
	private final Words options;
	private final Map<String, LockItem> locks = new HashMap<>();

	private Peer(Words options) {
		this.options = options;
		dynamodb = DynamoDbClient.builder()
		    .endpointOverride(URI.create(options.named.get("endpoint")))
		    .build();
		var builder = AmazonDynamoDBLockClientOptions
		    .builder(dynamodb, options.named.get("table"))
		    .withPartitionKeyName(options.named.get("key_attribute"))
		    .withTimeUnit(TimeUnit.MILLISECONDS)
		    .withLeaseDuration(options.number("lease_ms", 0))
		    .withHeartbeatPeriod(options.number("heartbeat_ms", 0))
		    .withCreateHeartbeatBackgroundThread(true);
		if (options.named.containsKey("sort_attribute"))
			builder.withSortKeyName(
			    options.named.get("sort_attribute"));
		if (options.named.containsKey("owner"))
			builder.withOwnerName(options.named.get("owner"));
		client = new AmazonDynamoDBLockClient(builder.build());
	}

	private static String decode(String text) {
		return URLDecoder.decode(text.replace("+", "%2B"),
		    StandardCharsets.UTF_8);
	}

	private static String encode(String text) {
		return URLEncoder.encode(text, StandardCharsets.UTF_8)
		    .replace("+", "%20");
	}

	private static void say(String word, String... rest) {
		StringBuilder line = new StringBuilder(word);
		for (String text : rest)
			line.append(' ').append(text);
		System.out.println(line);
		System.out.flush();
	}

	private static String hex(ByteBuffer buffer) {
		byte[] bytes = new byte[buffer.remaining()];
		buffer.duplicate().get(bytes);
		return HexFormat.of().formatHex(bytes);
	}

	/** What an answer tells of a lock. */
	private static String[] told(String key, LockItem lock) {
		List<String> words = new ArrayList<>();
		words.add(encode(key));
		words.add("version=" + encode(lock.getRecordVersionNumber()));
		words.add("owner=" + encode(lock.getOwnerName()));
		words.add("lease_ms=" + lock.getLeaseDuration());
		lock.getData().ifPresent(d -> words.add("data=" + hex(d)));
		lock.getAdditionalAttributes().forEach((name, value) ->
		    words.add("attr." + name + (value.n() != null
		        ? ":n=" + encode(value.n())
		        : value.s() != null ? "=" + encode(value.s())
		        : ":other=")));
		return words.toArray(new String[0]);
	}

	private Optional<String> sort(Words words) {
		return options.named.containsKey("sort_attribute")
		    ? Optional.of(words.named.getOrDefault("sort", "-"))
		    : Optional.empty();
	}

	private void create() {
		var builder = CreateDynamoDBTableOptions.builder(dynamodb,
		    ProvisionedThroughput.builder().readCapacityUnits(100L)
		        .writeCapacityUnits(100L).build(),
		    options.named.get("table"))
		    .withPartitionKeyName(options.named.get("key_attribute"));
		if (options.named.containsKey("sort_attribute"))
			builder.withSortKeyName(
			    options.named.get("sort_attribute"));
		AmazonDynamoDBLockClient.createLockTableInDynamoDB(
		    builder.build());
		say("created", encode(options.named.get("table")));
	}

	private void acquire(Words words) throws InterruptedException {
		String key = words.bare.get(1);
		long wait = words.number("wait_ms", 0);
		var builder = AcquireLockOptions.builder(key)
		    .withReplaceData(!"no".equals(words.named.get("replace")))
		    .withDeleteLockOnRelease(true)
		    .withAcquireOnlyIfLockAlreadyExists(words.yes("exists"))
		    .withUpdateExistingLockRecord(words.yes("update"))
		    .withAcquireReleasedLocksConsistently(
		        words.yes("consistent"))
		    .withShouldSkipBlockingWait(wait == 0)
		    .withTimeUnit(TimeUnit.MILLISECONDS)
		    .withRefreshPeriod(options.number("poll_ms", 100))
		    .withAdditionalTimeToWaitForLock(wait)
		    .withAdditionalAttributes(words.attributes());
		sort(words).ifPresent(builder::withSortKey);
		words.data().ifPresent(builder::withData);
		Optional<LockItem> lock;
		try {
			lock = client.tryAcquireLock(builder.build());
		} catch (LockCurrentlyUnavailableException e) {
			lock = Optional.empty();
		}
		if (lock.isEmpty()) {
			say("busy", encode(key));
			return;
		}
		locks.put(key, lock.get());
		say("acquired", told(key, lock.get()));
	}

	private void release(Words words) {
		String key = words.bare.get(1);
		var builder = ReleaseLockOptions.builder(locks.remove(key))
		    .withDeleteLock(!words.yes("keep"))
		    .withBestEffort(false);
		words.data().ifPresent(builder::withData);
		if (client.releaseLock(builder.build()))
			say("released", encode(key));
		else
			say("error", encode("it is somebody else's"));
	}

	private void heartbeat(Words words) {
		String key = words.bare.get(1);
		var builder = SendHeartbeatOptions.builder(locks.get(key));
		words.data().ifPresent(builder::withData);
		client.sendHeartbeat(builder.build());
		say("renewed", told(key, locks.get(key)));
	}

	private void get(Words words) {
		String key = words.bare.get(1);
		Optional<LockItem> lock = client.getLock(key, sort(words));
		if (lock.isPresent())
			say("held", told(key, lock.get()));
		else
			say("free", encode(key));
	}

	private void status(Words words) {
		String key = words.bare.get(1);
		say(client.hasLock(key, sort(words)) ? "holds" : "lost",
		    encode(key));
	}

	private void run(Words words) throws InterruptedException {
		switch (words.bare.get(0)) {
		case "create": create(); break;
		case "acquire": acquire(words); break;
		case "release": release(words); break;
		case "heartbeat": heartbeat(words); break;
		case "get": get(words); break;
		case "status": status(words); break;
		default: say("unsupported", encode(words.bare.get(0)));
		}
	}

	public static void main(String[] arguments) throws Exception {
		Peer peer = new Peer(new Words(arguments));
		var lines = new BufferedReader(
		    new InputStreamReader(System.in, StandardCharsets.UTF_8));
		say("ready");
		String line;
		while ((line = lines.readLine()) != null) {
			Words words = new Words(line.trim().split(" +"));
			if (words.bare.get(0).equals("quit"))
				break;
			try {
				peer.run(words);
			} catch (RuntimeException e) {
				say("error", encode(e.toString()));
			}
		}
		// The library's thread would go on for ever.
		System.exit(0);
	}
}
