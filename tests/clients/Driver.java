import ddblock.DdblockClient;
import ddblock.DdblockClient.DdblockException;
import ddblock.DdblockClient.Event;
import ddblock.DdblockClient.Fields;
import ddblock.DdblockClient.Hold;
import ddblock.DdblockClient.Pending;
import ddblock.DdblockClient.Reply;
import ddblock.DdblockClient.Rows;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;

/** The driver of the Java client: see test_clients.py. */
final class Driver {
    private static final PrintStream OUT =
            new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private static final BufferedReader INPUT = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8));
    private static final Duration LONG =
            ChronoUnit.FOREVER.getDuration();

    private final Map<String, DdblockClient> clients = new HashMap<>();
    private final Map<String, Hold> holds = new TreeMap<>();
    private final Map<String, Started> started = new HashMap<>();

    /** A request under way, and the name for what it is granted, if any. */
    private record Started(Pending pending, String hold) {
    }

    private static final class BodyException extends Exception {
        private static final long serialVersionUID = 1;
    }

    /** The rest of a command: values, and what is named. */
    private static final class Words {
        final byte[] key;
        final List<byte[]> keys = new ArrayList<>();
        final Map<String, Object> named = new TreeMap<>();

        Words(List<String> words) {
            for (String word : words) {
                String[] pair = word.split("=", 2);
                if (pair.length == 2)
                    named.put(value(pair[0]).toString(), value(pair[1]));
                else
                    keys.add(DdblockClient.decode(
                            word.equals("\"\"") ? "" : word));
            }
            key = keys.isEmpty() ? null : keys.get(0);
        }

        Object oneOrAll() {
            return keys.size() > 1 ? keys : key;
        }

        /** Text where it is text. */
        private static Object value(String encoded) {
            byte[] bytes = DdblockClient.decode(encoded);
            try {
                return StandardCharsets.UTF_8.newDecoder()
                        .decode(ByteBuffer.wrap(bytes)).toString();
            } catch (CharacterCodingException e) {
                return bytes;
            }
        }
    }

    static String readLine() {
        try {
            return INPUT.readLine();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void say(String words, Fields fields) {
        var line = new StringBuilder(words);
        for (String name : fields.names())
            line.append(' ').append(DdblockClient.encode(name)).append('=')
                    .append(DdblockClient.encode(fields.bytes(name)));
        OUT.println(line);
    }

    private static void say(Reply reply) {
        reply.rows().forEach(row -> say("row", row));
        say("ok", reply.fields());
    }

    private void say(String name, Hold hold) {
        holds.put(name, hold);
        say("ok", hold.fields());
    }

    private String nameOf(Hold hold) {
        return holds.entrySet().stream()
                .filter(entry -> entry.getValue() == hold)
                .map(Map.Entry::getKey).findFirst().orElse("-");
    }

    private Started begin(List<String> words) {
        var client = clients.get(words.get(1));
        var rest = new Words(words.subList(3, words.size()));
        if (words.get(0).equals("request"))
            return new Started(client.start(words.get(2), rest.key,
                    rest.named), null);
        String verb = words.get(0).equals("try") ? "TRY" : "ACQUIRE";
        return new Started(client.start(verb, rest.oneOrAll(), rest.named),
                words.get(2));
    }

    private void end(Started request) throws InterruptedException {
        Reply reply = request.pending.result();
        if (request.hold == null)
            say(reply);
        else
            say(request.hold, reply.hold());
    }

    private void abandon(Started request) {
        Thread.currentThread().interrupt();
        try {
            request.pending.result();
        } catch (InterruptedException e) {
            OUT.println("ok");
        }
    }

    private void scope(DdblockClient client, String key, boolean fail)
            throws InterruptedException {
        try (Hold hold = client.acquire(key)) {
            OUT.println("body state=" + client.get(key, Map.of())
                    .get("state"));
            if (fail) {
                client.request("RELEASE", null, Map.of("id", hold.id()));
                throw new BodyException();
            }
        } catch (BodyException e) {
            OUT.println("error body");
            return;
        }
        OUT.println("ok");
    }

    private void threads(DdblockClient client, List<String> words)
            throws InterruptedException {
        int times = Integer.parseInt(words.get(1));
        var grants = new AtomicInteger();
        var threads = new Thread[Integer.parseInt(words.get(0))];
        for (int i = 0; i < threads.length; i++) {
            boolean isShared = words.size() > 3;
            String key = words.get(2) + (isShared ? "" : i);
            var terms = Map.of("reentrant", isShared);
            threads[i] = new Thread(() -> {
                try {
                    for (int j = 0; j < times; j++) {
                        client.acquire(key, terms).release();
                        grants.incrementAndGet();
                    }
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
        OUT.println("ok grants=" + grants);
    }

    private void doEvent(DdblockClient client, String name)
            throws InterruptedException {
        Event event;
        while ((event = client.nextEvent(LONG)) != null) {
            if (event.name().equals(name)) {
                say("event " + name + " " + nameOf(event.hold()),
                        event.fields());
                return;
            }
        }
    }

    private void doRows(Rows rows) {
        try (rows) {
            for (Fields row : rows)
                say("row", row);
        }
        OUT.println("ok");
    }

    private void doResume(DdblockClient client, List<String> words)
            throws InterruptedException {
        var resumed = client.resume(clients.get(words.get(0)).secret());
        for (int i = 1; i < words.size(); i++)
            holds.put(words.get(i), resumed.get(i - 1));
        OUT.println("ok holds=" + resumed.size());
    }

    private void doHold(String verb, Hold hold, List<String> words)
            throws Exception {
        switch (verb) {
            case "release" -> hold.release(new Words(words).named);
            case "renew" -> hold.renew(new Words(words).named);
            case "lost" -> OUT.println("lost reason=" + hold.lost().get());
            case "token" -> OUT.println("token " + hold.tokenText(
                    new String(new Words(words).key, StandardCharsets.UTF_8)));
            case "count" -> OUT.println("count " + hold.count());
            case "valid" -> OUT.println(hold.isValid() ? "yes" : "no");
            default -> OUT.println("until " + hold.untilBootMs());
        }
        if (verb.startsWith("re"))
            OUT.println("ok");
    }

    private void doClient(String verb, String name, List<String> words)
            throws InterruptedException {
        var client = clients.get(name);
        var rest = new Words(words);
        switch (verb) {
            case "open" -> {
                clients.put(name, DdblockClient.connect(rest.named));
                say("ok", clients.get(name).hello().fields());
            }
            case "close" -> {
                client.close();
                OUT.println("ok");
            }
            case "get" -> say("ok", client.get(rest.key, rest.named));
            case "watch" -> say("ok", client.watch(rest.key, rest.named));
            case "unwatch" -> {
                client.unwatch(rest.key, rest.named);
                OUT.println("ok");
            }
            case "break" -> say("ok", client.breakLock(words.get(0),
                    Long.parseLong(words.get(1)), words.get(2), rest.named));
            case "status" -> say(client.status());
            case "resume" -> doResume(client, words);
            case "list" -> doRows(client.list(rest.named));
            case "held" -> doRows(client.held(rest.named));
            case "waiting" -> doRows(client.waiting(rest.named));
            case "event" -> doEvent(client, words.get(0));
            case "scope" -> scope(client, words.get(0), words.size() > 1);
            default -> threads(client, words);
        }
    }

    private void perform(List<String> words) throws Exception {
        String verb = words.get(0);
        switch (verb) {
            case "begin" -> {
                started.put(words.get(1), begin(words.subList(2,
                        words.size())));
                OUT.println("begun");
            }
            case "end" -> end(started.get(words.get(1)));
            case "cancel" -> OUT.println("ok cancelled=" + (started
                    .get(words.get(1)).pending.cancel() ? "yes" : "no"));
            case "abandon" -> abandon(started.get(words.get(1)));
            case "acquire" -> {
                var rest = new Words(words.subList(3, words.size()));
                say(words.get(2), clients.get(words.get(1))
                        .acquire(rest.oneOrAll(), rest.named));
            }
            case "try" -> {
                var rest = new Words(words.subList(3, words.size()));
                say(words.get(2), clients.get(words.get(1))
                        .tryAcquire(rest.oneOrAll(), rest.named));
            }
            case "request" -> end(begin(words));
            case "old" -> {
                Old.play(words.get(1));
                OUT.println("done");
            }
            case "release", "renew", "lost", "token", "count", "valid",
                    "until" -> doHold(verb, holds.get(words.get(1)),
                        words.subList(2, words.size()));
            default -> doClient(verb, words.get(1),
                    words.subList(2, words.size()));
        }
    }

    public static void main(String[] arguments) throws Exception {
        var driver = new Driver();
        String line;
        while ((line = readLine()) != null) {
            try {
                driver.perform(Arrays.asList(line.split(" ")));
            } catch (DdblockException e) {
                say("error " + e.code(), e.fields());
            }
        }
    }
}
