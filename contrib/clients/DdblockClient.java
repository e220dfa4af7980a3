package ddblock;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * A client of ddblockd: locks of this host or of a fleet.
 *
 * <pre>
 * try (var client = DdblockClient.connect(Map.of("name", "report"));
 *      var hold = client.acquire("jobs/nightly", Map.of("wait", "30s"))) {
 *     writeReport(hold.token());
 * }
 * </pre>
 *
 * One file, nothing but Java 17, Linux; copy it. It speaks
 * ddblock-protocol(7). A hold belongs to its connection: when the client is
 * closed or the process ends, the daemon gives it to the next in line. One that
 * was acquired with {@code "linger", "1m"} stays for so long:
 * {@code client.resume(secret)} has it again, on another connection.
 *
 * <p>Every hold has a deadline that renewals move on, and counts down by
 * itself: a daemon that is stopped or dead cannot keep {@code hold.isValid()}
 * true. {@code hold.lost()} is a future that tells of the loss,
 * {@code nextEvent} tells more.
 *
 * <p>Arguments of a request go to the daemon as they are, so what it learns
 * tomorrow can be used today, as can verbs, by {@code request}: strings,
 * byte[], numbers, Boolean (yes and no), Duration, and List (joined with
 * commas). Any number of threads may use a client. Who is interrupted gives the
 * request up; what it is granted all the same is given back.
 */
public final class DdblockClient implements AutoCloseable {
    public static final String DEFAULT_SOCKET = "/run/ddblockd/ddblockd.sock";
    private static final int EVENTS_MAX = 1024; // unread; the oldest go first
    private static final int LINE_MAX = 1 << 20;
    // Timers stand still while the host sleeps; its boot-time clock does not.
    private static final long LOOK_MS = 1000;
    // The deadline of a hold that has none.
    private static final long NEVER_MS = Long.MAX_VALUE;
    private static final Duration FOR_EVER = Duration.ofDays(36500);
    private static final Set<String> CANCELLABLE =
            Set.of("ACQUIRE", "TRY", "LIST", "HELD", "WAITING");
    // Of a request that was not run.
    private static final Set<String> REFUSED =
            Set.of("BAD_REQUEST", "UNSUPPORTED");

    /**
     * A request failed. The code is a word of the protocol; NO_DAEMON: there
     * is no connection (any more); PROTOCOL: the answer was not understood.
     */
    public static class DdblockException extends RuntimeException {
        private static final long serialVersionUID = 1;
        private final String code;
        private final String text;
        private final transient Fields fields;

        private DdblockException(String code, String text) {
            this(code, text, new Fields());
        }

        public DdblockException(String code, String text, Fields fields) {
            super(text.isEmpty() ? code : code + ": " + text);
            this.code = code;
            this.text = text;
            this.fields = fields;
        }

        public String code() {
            return code;
        }

        /** For people. */
        public String text() {
            return text;
        }

        /** All that the daemon said. */
        public Fields fields() {
            return fields;
        }

        /** The code behind it, if the daemon says so. */
        public Optional<String> causeCode() {
            return Optional.ofNullable(fields.get("cause"));
        }
    }

    /** The named arguments of a line. */
    public static final class Fields {
        private final Map<String, byte[]> values = new LinkedHashMap<>();

        public Set<String> names() {
            return values.keySet();
        }

        public byte[] bytes(String name) {
            return values.get(name);
        }

        /** As text; null if it is not there. */
        public String get(String name) {
            byte[] value = values.get(name);
            return value == null ? null
                    : new String(value, StandardCharsets.UTF_8);
        }

        public long number(String name, long otherwise) {
            try {
                return Long.parseLong(get(name));
            } catch (NumberFormatException e) {
                return otherwise;
            }
        }
    }

    /** What OK came with, the rows before it, and the hold of a grant. */
    public record Reply(Fields fields, String text, List<Fields> rows,
            Hold hold) {
    }

    /**
     * What the daemon says of its own accord, such as LOCK_IN_DANGER. LOCK_LOST
     * also comes from here, with reason=expired or, when the connection ended,
     * reason=disconnected. The hold is the one that it is about, or null.
     */
    public record Event(String name, Fields fields, Hold hold) {
    }

    // ---- the wire ---------------------------------------------------------

    /**
     * CLOCK_BOOTTIME, which is the clock of all deadlines, in steps of 10 ms.
     * What is read may be over by a step, so the next one is meant.
     */
    static long bootMs() {
        try {
            String text = Files.readString(Path.of("/proc/uptime"));
            String seconds = text.substring(0, text.indexOf(' '));
            return Long.parseLong(seconds.replace(".", "")) * 10 + 10;
        } catch (IOException e) {
            return Long.MAX_VALUE; // without a clock nothing is valid
        }
    }

    /** A value as it stands on the wire. */
    public static String encode(Object value) {
        byte[] bytes;
        if (value instanceof byte[] raw)
            bytes = raw;
        else if (value instanceof Boolean yes)
            bytes = (yes ? "yes" : "no").getBytes(StandardCharsets.UTF_8);
        else if (value instanceof Duration time)
            bytes = (time.toMillis() + "ms").getBytes(StandardCharsets.UTF_8);
        else if (value instanceof List<?> list)
            bytes = String.join(",", list.stream().map(String::valueOf)
                    .toList()).getBytes(StandardCharsets.UTF_8);
        else
            bytes = value.toString().getBytes(StandardCharsets.UTF_8);
        var out = new StringBuilder();
        for (int i = 0; i < bytes.length; i++) {
            int b = bytes[i] & 0xff;
            if (b <= ' ' || b >= 0x7f || b == '%' || b == '='
                    || b == ':' && i == 0)
                out.append(String.format("%%%02X", b));
            else
                out.append((char) b);
        }
        return out.toString();
    }

    /** The bytes of a value; each character on the wire is a byte. */
    public static byte[] decode(String text) {
        var out = new ByteArrayOutputStream();
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '%' && i + 2 < text.length()) {
                int high = Character.digit(text.charAt(i + 1), 16);
                int low = Character.digit(text.charAt(i + 2), 16);
                if (high >= 0 && low >= 0) {
                    out.write(high << 4 | low);
                    i += 2;
                    continue;
                }
            }
            out.write(c);
        }
        return out.toByteArray();
    }

    private static String utf8(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** A duration as the daemon writes it: 250ms, 9.5s. */
    private static long durationMs(String text) {
        try {
            if (text != null && text.endsWith("ms"))
                return Long.parseLong(text.substring(0, text.length() - 2));
            if (text != null && text.endsWith("s"))
                return (long) (Double.parseDouble(
                        text.substring(0, text.length() - 1)) * 1000);
        } catch (NumberFormatException e) {
            // below
        }
        throw new DdblockException("PROTOCOL", text + " is not a duration");
    }

    private static final class Line {
        String tag = "";
        String kind = "";
        String word = "";
        String text = "";
        final Fields fields = new Fields();

        Line(String line) {
            var words = new ArrayDeque<>(Arrays.asList(
                    line.replaceFirst("\r$", "").split(" ", -1)));
            if (words.peek().startsWith("#"))
                tag = words.poll().substring(1);
            if (!words.isEmpty())
                kind = words.poll();
            if (kind.startsWith("!")) {
                word = kind.substring(1);
                kind = "!";
            } else if (kind.equals("ERR") && !words.isEmpty()) {
                word = words.poll();
            }
            while (!words.isEmpty() && !words.peek().startsWith(":")) {
                String[] pair = words.poll().split("=", 2);
                if (pair.length == 2)
                    fields.values.put(utf8(decode(pair[0])), decode(pair[1]));
            }
            if (!words.isEmpty())
                text = utf8(String.join(" ", words).substring(1)
                        .getBytes(StandardCharsets.ISO_8859_1));
        }
    }

    // ---- holds ------------------------------------------------------------

    /** A lock that this client has. */
    public final class Hold implements AutoCloseable {
        private final String key;
        private final String id;
        private final String ns;
        private final boolean isManual; // only its own RENEW moves it
        private final Fields fields;
        private final Map<String, Fields> tokens = new HashMap<>();
        private final CompletableFuture<String> lost =
                new CompletableFuture<>();
        private long untilBootMs; // this and what follows: under the mutex
        private String reason;
        private long count = 1; // how often it is held
        private final Set<Pending> releasing = new HashSet<>();

        private Hold(Pending pending, Fields fields) {
            this.fields = fields;
            String told = fields.get("key"); // by RESUME, as is its ns
            key = told != null || pending.key == null ? told
                    : utf8(decode(pending.key));
            id = fields.get("id");
            untilBootMs = fields.get("until_boot_ms") == null ? NEVER_MS
                    : fields.number("until_boot_ms", -1);
            Object named = pending.arguments.get("ns");
            if (named == null)
                named = fields.get("ns");
            ns = named == null ? defaultNs : named.toString();
            isManual = "manual".equals(pending.arguments.get("renew"));
            for (Fields row : pending.rows)
                tokens.put(row.get("key"), row);
            if (pending.rows.isEmpty())
                tokens.put(key, fields);
            if (id == null || untilBootMs < 0)
                throw new DdblockException("PROTOCOL",
                        "cannot read the grant", fields);
        }

        public String key() {
            return key;
        }

        public String id() {
            return id;
        }

        /** The fencing token; of several locks, the first's. */
        public long token() {
            return token(key);
        }

        /** That of one of several locks; 0: it is none of them. */
        public long token(String key) {
            Fields told = tokens.get(key);
            return told == null ? 0 : told.number("token", 0);
        }

        /**
         * The token in decimal: in some formats of older clients there are
         * tokens that no number has room for, and token() is 0.
         */
        public String tokenText() {
            return tokenText(key);
        }

        public String tokenText(String key) {
            Fields told = tokens.get(key);
            String text = told == null ? null : told.get("token_text");
            return text != null ? text : Long.toString(token(key));
        }

        public String mode() {
            String mode = fields.get("mode");
            return mode == null ? "exclusive" : mode;
        }

        public String ns() {
            return ns;
        }

        /** All that the grant said. */
        public Fields fields() {
            return fields;
        }

        /** How often it is held: once, if it is not reentrant; 0: released. */
        public long count() {
            synchronized (mutex) {
                return count;
            }
        }

        /** May what the lock guards be used? Only before the deadline. */
        public boolean isValid() {
            return !remaining().isZero();
        }

        /** Time to the deadline, unless a renewal moves it on. */
        public Duration remaining() {
            synchronized (mutex) {
                if (count <= 0 || reason != null)
                    return Duration.ZERO;
                return Duration.ofMillis(Math.max(untilBootMs - bootMs(), 0));
            }
        }

        /** The deadline, in milliseconds of CLOCK_BOOTTIME. */
        public long untilBootMs() {
            synchronized (mutex) {
                return untilBootMs;
            }
        }

        /** Completed, with the reason, when the hold is lost. */
        public CompletableFuture<String> lost() {
            return lost;
        }

        /** Have it renewed now: proof that the store answers. */
        public void renew() throws InterruptedException {
            renew(Map.of());
        }

        public void renew(Map<String, ?> arguments)
                throws InterruptedException {
            Fields answer = request("RENEW", null, withId(arguments)).fields();
            synchronized (mutex) {
                extend(answer);
            }
        }

        /**
         * Give it back, once. Fails with LOCK_LOST if it was lost before. To
         * release what is released does nothing. It takes no longer than the
         * hold would.
         */
        public void release() {
            release(Map.of());
        }

        public void release(Map<String, ?> arguments) {
            Pending release;
            synchronized (mutex) {
                if (count <= 0)
                    return;
                if (reason != null) {
                    count--;
                    giveBack(id);
                    throw lostError();
                }
                release = start("RELEASE", null, withId(arguments));
                count--;
                releasing.add(release);
            }
            release.resultUninterrupted();
        }

        /** The same, at the end of a try. */
        @Override
        public void close() {
            release();
        }

        /** A deadline moves forward only, and not beyond the hold's end. */
        private void extend(Fields said) {
            long end = fields.number("end_boot_ms", Long.MAX_VALUE);
            untilBootMs = Math.max(untilBootMs,
                    Math.min(said.number("until_boot_ms", 0), end));
        }

        private Map<String, Object> withId(Map<String, ?> arguments) {
            var all = new LinkedHashMap<String, Object>(arguments);
            all.put("id", id);
            return all;
        }

        private DdblockException lostError() {
            return new DdblockException("LOCK_LOST",
                    "the lock was lost: " + reason);
        }
    }

    // ---- requests ---------------------------------------------------------

    /** A request under way. */
    public final class Pending {
        private final String tag;
        private final String verb;
        private final String key; // the first one, encoded
        private final Map<String, ?> arguments;
        private final CompletableFuture<Reply> future =
                new CompletableFuture<>();
        private final ArrayDeque<Fields> rows = new ArrayDeque<>();
        private final Map<String, Hold> resumed = new LinkedHashMap<>();
        private boolean isAbandoned;

        private Pending(String tag, String verb, String key,
                Map<String, ?> arguments) {
            this.tag = tag;
            this.verb = verb;
            this.key = key;
            this.arguments = arguments;
        }

        public String tag() {
            return tag;
        }

        /** Wait for the reply. Who is interrupted gives the request up. */
        public Reply result() throws InterruptedException {
            try {
                return future.get();
            } catch (ExecutionException e) {
                throw ours(e);
            } catch (InterruptedException e) {
                abandon();
                throw e;
            }
        }

        private Reply resultUninterrupted() {
            boolean interrupted = false;
            try {
                while (true) {
                    try {
                        return future.get();
                    } catch (InterruptedException e) {
                        interrupted = true;
                    } catch (ExecutionException e) {
                        throw ours(e);
                    }
                }
            } finally {
                if (interrupted)
                    Thread.currentThread().interrupt();
            }
        }

        /** An exception of this very thread, with what the daemon said. */
        private DdblockException ours(ExecutionException e) {
            var cause = (DdblockException) e.getCause();
            return new DdblockException(cause.code, cause.text, cause.fields);
        }

        /** Give it up: it fails with CANCELLED, unless it was late. */
        public boolean cancel() throws InterruptedException {
            return "yes".equals(request("CANCEL", null, Map.of("tag", tag))
                    .fields().get("cancelled"));
        }

        /** Nobody waits for it any more. A grant is given back. */
        public void abandon() {
            synchronized (mutex) {
                if (isAbandoned)
                    return;
                isAbandoned = true;
                if (pending.containsKey(tag)) {
                    if (CANCELLABLE.contains(verb))
                        sendUnheard("CANCEL", Map.of("tag", tag));
                } else if (!future.isCompletedExceptionally()
                        && future.join().hold() != null) {
                    future.join().hold().count--;
                    forget(future.join().hold());
                    giveBack(future.join().hold().id);
                }
            }
        }
    }

    /** Rows of a listing, as they come. To close it early is to cancel it. */
    public final class Rows implements Iterable<Fields>, Iterator<Fields>,
            AutoCloseable {
        private final Pending listing;

        private Rows(Pending listing) {
            this.listing = listing;
        }

        @Override
        public Iterator<Fields> iterator() {
            return this;
        }

        @Override
        public boolean hasNext() {
            try {
                synchronized (mutex) {
                    while (listing.rows.isEmpty() && !listing.future.isDone())
                        mutex.wait();
                    if (!listing.rows.isEmpty())
                        return true;
                }
                listing.result();
                return false;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                close();
                return false;
            }
        }

        @Override
        public Fields next() {
            if (!hasNext())
                throw new NoSuchElementException();
            synchronized (mutex) {
                return listing.rows.remove();
            }
        }

        @Override
        public void close() {
            listing.abandon();
        }
    }

    // ---- clients ----------------------------------------------------------

    private final Object mutex = new Object();
    private final SocketChannel channel;
    private final Selector selector;
    private final SelectionKey selection;
    private final ArrayDeque<ByteBuffer> outgoing = new ArrayDeque<>();
    private final ArrayDeque<Event> events = new ArrayDeque<>();
    private final Map<String, Pending> pending = new HashMap<>();
    private final Map<String, Hold> holds = new HashMap<>();
    private final StringBuilder rest = new StringBuilder();
    private long serial;
    private int lineMax = LINE_MAX;
    private String defaultNs = "default";
    private Reply hello;
    private String secret;
    private DdblockException ended; // for whoever comes later

    private DdblockClient(Path path) throws IOException {
        channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            channel.connect(UnixDomainSocketAddress.of(path));
            channel.configureBlocking(false);
            selector = Selector.open();
        } catch (IOException e) {
            channel.close();
            throw e;
        }
        selection = channel.register(selector, SelectionKey.OP_READ);
        var thread = new Thread(this::run, "ddblock");
        thread.setDaemon(true);
        thread.start();
    }

    /** A connection to $DDBLOCK_SOCKET, or else to the usual place. */
    public static DdblockClient connect(Map<String, ?> arguments)
            throws InterruptedException {
        String path = System.getenv("DDBLOCK_SOCKET");
        return connect(Path.of(path == null || path.isEmpty()
                ? DEFAULT_SOCKET : path), arguments);
    }

    /** A connection; the arguments, such as name, are those of HELLO. */
    public static DdblockClient connect(Path path, Map<String, ?> arguments)
            throws InterruptedException {
        DdblockClient client;
        try {
            client = new DdblockClient(path);
        } catch (IOException e) {
            throw new DdblockException("NO_DAEMON", "cannot connect to " + path
                    + ": " + e.getMessage());
        }
        var all = new LinkedHashMap<String, Object>(arguments);
        all.put("proto", 1);
        all.put("renewed", true);
        try {
            client.hello = client.request("HELLO", null, all);
        } catch (RuntimeException | InterruptedException e) {
            client.close();
            throw e;
        }
        return client;
    }

    /** What the daemon said of itself. */
    public Reply hello() {
        return hello;
    }

    /** By which what lingers can be resumed, also after the end; or null. */
    public String secret() {
        synchronized (mutex) {
            return secret;
        }
    }

    /** End the connection. The daemon releases what does not linger. */
    @Override
    public void close() {
        synchronized (mutex) {
            holds.values().forEach(hold -> hold.count = 0);
            holds.clear();
            end("the client was closed");
        }
    }

    /** Send a request and go on. Any number may be under way. */
    public Pending start(String verb, Object key, Map<String, ?> arguments) {
        synchronized (mutex) {
            if (ended != null)
                throw ended;
            List<?> keys = key == null ? List.of()
                    : key instanceof List<?> several ? several : List.of(key);
            var request = new Pending(String.valueOf(++serial), verb,
                    keys.isEmpty() ? null : encode(keys.get(0)), arguments);
            var line = new StringBuilder("#" + request.tag + " " + verb);
            keys.forEach(each -> line.append(' ').append(encode(each)));
            arguments.forEach((name, value) -> line.append(' ')
                    .append(encode(name)).append('=').append(encode(value)));
            line.append('\n');
            if (line.length() > lineMax)
                throw new DdblockException("BAD_REQUEST",
                        "the request is longer than a line");
            pending.put(request.tag, request);
            outgoing.add(ByteBuffer.wrap(line.toString()
                    .getBytes(StandardCharsets.US_ASCII)));
            selector.wakeup();
            return request;
        }
    }

    /** Send a request, with a key or null, and wait for its reply. */
    public Reply request(String verb, Object key, Map<String, ?> arguments)
            throws InterruptedException {
        return start(verb, key, arguments).result();
    }

    /**
     * The lock, as soon as it is free ("wait", "5s": at most). A List of keys:
     * all of these locks as one.
     */
    public Hold acquire(Object key, Map<String, ?> arguments)
            throws InterruptedException {
        return request("ACQUIRE", key, arguments).hold();
    }

    public Hold acquire(Object key) throws InterruptedException {
        return acquire(key, Map.of());
    }

    /** The lock if it is free; else it fails with LOCK_BUSY. */
    public Hold tryAcquire(Object key, Map<String, ?> arguments)
            throws InterruptedException {
        return request("TRY", key, arguments).hold();
    }

    public Hold tryAcquire(Object key) throws InterruptedException {
        return tryAcquire(key, Map.of());
    }

    /**
     * What lingers by the secret of another client, before anything is acquired
     * here. What was lost meanwhile is among it. Whoever gives this up closes
     * the client, and it lingers again.
     */
    public List<Hold> resume(String secret) throws InterruptedException {
        var request = start("RESUME", null, Map.of("secret", secret));
        request.result();
        return List.copyOf(request.resumed.values());
    }

    /** Who has the lock. */
    public Fields get(Object key, Map<String, ?> arguments)
            throws InterruptedException {
        return request("GET", key, arguments).fields();
    }

    /** The same, and from now on an event CHANGED at each change. */
    public Fields watch(Object key, Map<String, ?> arguments)
            throws InterruptedException {
        return request("WATCH", key, arguments).fields();
    }

    public void unwatch(Object key, Map<String, ?> arguments)
            throws InterruptedException {
        request("UNWATCH", key, arguments);
    }

    /**
     * Take it from its holder, if that has this token, or, with token 0, if it
     * still is the "record" that get() showed: administrators.
     */
    public Fields breakLock(Object key, long token, String reason,
            Map<String, ?> arguments) throws InterruptedException {
        var all = new LinkedHashMap<String, Object>(arguments);
        if (token != 0)
            all.put("token", token);
        all.put("reason", reason);
        return request("BREAK", key, all).fields();
    }

    /** A row for each namespace. */
    public Reply status() throws InterruptedException {
        return request("STATUS", null, Map.of());
    }

    /** The locks in the store. */
    public Rows list(Map<String, ?> arguments) {
        return new Rows(start("LIST", null, arguments));
    }

    /** What the clients of this daemon hold. */
    public Rows held(Map<String, ?> arguments) {
        return new Rows(start("HELD", null, arguments));
    }

    /** What they wait for. */
    public Rows waiting(Map<String, ?> arguments) {
        return new Rows(start("WAITING", null, arguments));
    }

    /** What the daemon says next; null: nothing in that time, or the end. */
    public Event nextEvent(Duration timeout) throws InterruptedException {
        long end = System.nanoTime() + timeout.toNanos();
        synchronized (mutex) {
            while (events.isEmpty() && ended == null) {
                long left = (end - System.nanoTime()) / 1000000;
                if (left <= 0)
                    break;
                mutex.wait(left);
            }
            return events.poll();
        }
    }

    // ---- under the mutex --------------------------------------------------

    private void sendUnheard(String verb, Map<String, ?> arguments) {
        if (ended == null)
            start(verb, null, arguments).isAbandoned = true;
    }

    private void giveBack(String id) {
        sendUnheard("RELEASE", Map.of("id", id));
    }

    private void feed(String data) {
        rest.append(data);
        int start = 0;
        for (int end; (end = rest.indexOf("\n", start)) >= 0; start = end + 1) {
            var line = new Line(rest.substring(start, end));
            Pending request = pending.get(line.tag);
            if (ended != null)
                return;
            if (line.kind.equals("!"))
                event(line.word, line.fields);
            else if (request != null)
                answer(request, line);
            else if (line.kind.equals("ERR") && line.tag.isEmpty())
                // It refuses no request of ours, but the connection.
                end(new DdblockException(line.word, line.text, line.fields));
        }
        rest.delete(0, start);
    }

    private void answer(Pending request, Line line) {
        mutex.notifyAll();
        try {
            if (line.kind.equals("+")) {
                row(request, line.fields);
                return;
            }
            pending.remove(request.tag);
            if (request.verb.equals("RELEASE"))
                released(request, line);
            if (!line.kind.equals("OK"))
                throw new DdblockException(line.word, line.text, line.fields);
            Hold hold = null;
            switch (request.verb) {
                case "ACQUIRE", "TRY" -> hold = grant(request, line.fields);
                case "RESUME" ->
                    secret = request.arguments.get("secret").toString();
                case "HELLO" -> {
                    lineMax = (int) line.fields.number("line_max", LINE_MAX);
                    if (line.fields.get("namespaces") != null)
                        defaultNs = line.fields.get("namespaces")
                                .split(",")[0];
                }
                default -> { }
            }
            request.future.complete(new Reply(line.fields, line.text,
                    List.copyOf(request.rows), hold));
        } catch (DdblockException e) {
            request.future.completeExceptionally(e);
        }
    }

    /** Of RESUME: a lock that is had again from here on. */
    private void row(Pending request, Fields fields) {
        if (!request.verb.equals("RESUME")) {
            request.rows.add(fields);
            return;
        }
        Hold hold = request.resumed.get(fields.get("id"));
        if (hold != null) {
            hold.tokens.put(fields.get("key"), fields);
            return;
        }
        hold = begin(request, fields);
        hold.count = fields.number("count", 1);
        request.resumed.put(hold.id, hold);
        if ("lost".equals(fields.get("state")))
            lose(hold, fields.get("reason"), fields);
    }

    private Hold grant(Pending request, Fields fields) {
        if (request.isAbandoned) {
            giveBack(fields.get("id"));
            return null;
        }
        if (fields.get("secret") != null)
            secret = fields.get("secret");
        Hold hold = holds.get(fields.get("id"));
        if (hold == null)
            return begin(request, fields);
        hold.count++;
        hold.extend(fields);
        return hold;
    }

    private Hold begin(Pending request, Fields fields) {
        var hold = new Hold(request, fields);
        if (hold.untilBootMs != NEVER_MS && hold.untilBootMs - bootMs()
                > durationMs(fields.get("remaining")) + LOOK_MS) {
            giveBack(hold.id);
            throw new DdblockException("PROTOCOL",
                    "the daemon has another boot-time clock", fields);
        }
        holds.put(hold.id, hold);
        return hold;
    }

    /**
     * It is held no more often than the daemon says. What was refused, for what
     * it brought, is done without that.
     */
    private void released(Pending request, Line line) {
        Hold hold = holds.get(request.arguments.get("id"));
        if (hold == null || !hold.releasing.remove(request))
            return;
        if (line.kind.equals("OK"))
            hold.count = Math.min(hold.count, line.fields.number("count", 0));
        else if (REFUSED.contains(line.word))
            giveBack(hold.id);
        forget(hold);
    }

    /** Unless it is held once more, or a release is under way. */
    private void forget(Hold hold) {
        if (hold.count <= 0 && hold.releasing.isEmpty())
            holds.remove(hold.id);
    }

    private void event(String name, Fields fields) {
        Hold hold = holds.get(fields.get("id"));
        if (name.equals("RENEWED")) {
            for (Hold each : holds.values()) {
                if (each.ns.equals(fields.get("ns")) && !each.isManual)
                    each.extend(fields);
            }
        } else if (name.equals("LOCK_LOST")) {
            if (hold != null)
                lose(hold, fields.get("reason"), fields);
        } else {
            if (hold != null)
                hold.extend(fields);
            tell(new Event(name, fields, hold));
        }
    }

    private void tell(Event event) {
        if (events.size() == EVENTS_MAX)
            events.poll();
        events.add(event);
        mutex.notifyAll();
    }

    /** It is over: once, and for good. */
    private void lose(Hold hold, String reason, Fields fields) {
        holds.remove(hold.id);
        hold.reason = reason == null ? "unknown" : reason;
        // The daemon stands still; its lock is free by now all the same.
        hold.releasing.forEach(release ->
                release.future.completeExceptionally(hold.lostError()));
        if (hold.count <= 0)
            return;
        hold.lost.completeAsync(() -> hold.reason);
        tell(new Event("LOCK_LOST", fields, hold));
    }

    private void lose(Hold hold, String reason) {
        var fields = new Fields();
        fields.values.put("id", hold.id.getBytes(StandardCharsets.UTF_8));
        fields.values.put("reason", reason.getBytes(StandardCharsets.UTF_8));
        lose(hold, reason, fields);
    }

    private void judge() {
        long now = bootMs();
        for (Hold hold : List.copyOf(holds.values())) {
            if (now >= hold.untilBootMs)
                lose(hold, "expired");
        }
    }

    /** The connection is over, and with it all holds. */
    private void end(DdblockException error) {
        if (ended != null)
            return;
        ended = error;
        pending.values().forEach(
                request -> request.future.completeExceptionally(error));
        pending.clear();
        List.copyOf(holds.values()).forEach(
                hold -> lose(hold, "disconnected"));
        mutex.notifyAll();
        try {
            channel.close();
            selector.close();
        } catch (IOException e) {
            // it is closed for us all the same
        }
    }

    private void end(String text) {
        end(new DdblockException("NO_DAEMON", text));
    }

    // ---- its thread -------------------------------------------------------

    private void run() {
        var buffer = ByteBuffer.allocate(1 << 16);
        try {
            while (selector.isOpen()) {
                selector.select(selectMs());
                synchronized (mutex) {
                    if (ended != null)
                        return;
                    write();
                    buffer.clear();
                    int count = channel.read(buffer);
                    if (count < 0)
                        end("the daemon ended the connection");
                    else if (count > 0)
                        feed(new String(buffer.array(), 0, count,
                                StandardCharsets.ISO_8859_1));
                    else // all that has arrived is read: no renewal is there
                        judge();
                }
            }
        } catch (IOException | RuntimeException e) {
            synchronized (mutex) {
                end("the connection ended: " + e);
            }
        }
    }

    /** Until the next deadline; 0: as long as nothing comes. */
    private long selectMs() {
        synchronized (mutex) {
            long first = Long.MAX_VALUE;
            for (Hold hold : holds.values())
                first = Math.min(first, hold.untilBootMs);
            return holds.isEmpty() ? 0
                    : Math.min(Math.max(first - bootMs(), 1), LOOK_MS);
        }
    }

    private void write() throws IOException {
        while (!outgoing.isEmpty()) {
            channel.write(outgoing.peek());
            if (outgoing.peek().hasRemaining())
                break;
            outgoing.poll();
        }
        selection.interestOps(outgoing.isEmpty() ? SelectionKey.OP_READ
                : SelectionKey.OP_READ | SelectionKey.OP_WRITE);
    }

    // ---- for those who come from amazon-dynamodb-lock-client --------------

    /** The old calls. The table, heartbeats and leases are the daemon's. */
    public static class AmazonDynamoDBLockClient implements AutoCloseable {
        private final DdblockClient client;
        private static final Set<String> NOT_OURS = Set.of("LOCK_LOST",
                "LOCK_STOLEN", "LOCK_NOT_OWNED", "NO_SUCH_LOCK");
        private final Map<Hold, Runnable> monitors = new ConcurrentHashMap<>();
        private final boolean isRenewed;

        public AmazonDynamoDBLockClient() throws InterruptedException {
            this(AmazonDynamoDBLockClientOptions.builder().build());
        }

        public AmazonDynamoDBLockClient(
                AmazonDynamoDBLockClientOptions options)
                throws InterruptedException {
            client = connect(options.ownerName == null ? Map.of()
                    : Map.of("name", options.ownerName));
            isRenewed = options.isRenewed;
            var thread = new Thread(this::monitor, "ddblock session monitor");
            thread.setDaemon(true);
            thread.start();
        }

        private void monitor() {
            Event event;
            try {
                while ((event = client.nextEvent(FOR_EVER)) != null) {
                    if (event.name().equals("LOCK_IN_DANGER")
                            && event.hold() != null)
                        warn(event.hold());
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        /** Once: it is not being renewed, or was lost. */
        private void warn(Hold hold) {
            Runnable callback = monitors.remove(hold);
            if (callback != null)
                callback.run();
        }

        public LockItem acquireLock(AcquireLockOptions options)
                throws InterruptedException {
            try {
                var hold = options.acquire(client, isRenewed);
                if (options.monitor != null) {
                    monitors.put(hold, options.monitor);
                    hold.lost().thenRun(() -> warn(hold));
                }
                return new LockItem(options, hold);
            } catch (DdblockException e) {
                throw switch (e.code()) {
                    case "LOCK_BUSY" ->
                        new LockCurrentlyUnavailableException(e);
                    case "ALREADY_HELD" -> new LockAlreadyOwnedException(e);
                    default -> new LockNotGrantedException(e);
                };
            }
        }

        public LockItem acquireLock(String key, String data,
                long refreshPeriod, long additionalTime, TimeUnit unit)
                throws InterruptedException {
            return acquireLock(AcquireLockOptions.builder(key)
                    .withData(ByteBuffer.wrap(data.getBytes(
                            StandardCharsets.UTF_8)))
                    .withRefreshPeriod(refreshPeriod)
                    .withAdditionalTimeToWaitForLock(additionalTime)
                    .withTimeUnit(unit).build());
        }

        public Optional<LockItem> tryAcquireLock(AcquireLockOptions options)
                throws InterruptedException {
            try {
                return Optional.of(acquireLock(options));
            } catch (LockNotGrantedException e) {
                return Optional.empty();
            }
        }

        /** Who has a lock, and what is kept in it; null: nobody, nothing. */
        public LockItem getLock(String key) throws InterruptedException {
            return getLock(key, Optional.empty());
        }

        public LockItem getLock(String key, Optional<String> sortKey)
                throws InterruptedException {
            var fields = client.get(key, sortKey.isEmpty() ? Map.of()
                    : Map.of("sort", sortKey.get()));
            var item = new LockItem(key, sortKey.orElse(null), fields);
            return "free".equals(fields.get("state"))
                    && item.getData().isEmpty()
                    && item.getAdditionalAttributes().isEmpty() ? null : item;
        }

        public void sendHeartbeat(LockItem item) throws InterruptedException {
            item.sendHeartBeat();
        }

        /** Was it still ours? */
        public boolean releaseLock(LockItem item) {
            return releaseLock(ReleaseLockOptions.builder(item).build());
        }

        public boolean releaseLock(ReleaseLockOptions options) {
            monitors.remove(options.item.hold);
            try {
                options.item.release();
                return true;
            } catch (DdblockException e) {
                if (!options.isBestEffort && !NOT_OURS.contains(e.code()))
                    throw e;
                return false;
            }
        }

        /** The end of a connection releases its locks. */
        @Override
        public void close() {
            client.close();
        }
    }

    /** What concerns a client; leases and heartbeats are the daemon's. */
    public static class AmazonDynamoDBLockClientOptions {
        private String ownerName;
        private boolean isRenewed = true;

        private AmazonDynamoDBLockClientOptions() {
        }

        public static Builder builder() {
            return new Builder();
        }

        public static class Builder {
            private final AmazonDynamoDBLockClientOptions options =
                    new AmazonDynamoDBLockClientOptions();

            /** Shown to others as HOST/NAME:PID. */
            public Builder withOwnerName(String name) {
                options.ownerName = name;
                return this;
            }

            /** Without it, locks are renewed by sendHeartbeat only. */
            public Builder withCreateHeartbeatBackgroundThread(
                    boolean create) {
                options.isRenewed = create;
                return this;
            }

            public AmazonDynamoDBLockClientOptions build() {
                return options;
            }
        }
    }

    public static class LockNotGrantedException extends DdblockException {
        private static final long serialVersionUID = 1;

        LockNotGrantedException(DdblockException e) {
            super(e.code(), e.text(), e.fields());
        }
    }

    public static class LockCurrentlyUnavailableException
            extends LockNotGrantedException {
        private static final long serialVersionUID = 1;

        LockCurrentlyUnavailableException(DdblockException e) {
            super(e);
        }
    }

    public static class LockAlreadyOwnedException
            extends LockNotGrantedException {
        private static final long serialVersionUID = 1;

        LockAlreadyOwnedException(DdblockException e) {
            super(e);
        }
    }

    /** A lock that an AmazonDynamoDBLockClient has, or has looked at. */
    public static class LockItem implements AutoCloseable {
        private final String key;
        private final String sortKey;
        private final Fields fields;
        private Hold hold;
        private boolean isDeleted; // what is kept goes with its release
        private boolean isKept;

        LockItem(String key, String sortKey, Fields fields) {
            this.key = key;
            this.sortKey = sortKey;
            this.fields = fields;
        }

        LockItem(AcquireLockOptions options, Hold hold) {
            this(options.key, options.sortKey, hold.fields());
            this.hold = hold;
            isDeleted = options.isDeleted;
            isKept = options.arguments.keySet().stream()
                    .anyMatch(LockItem::isContent)
                    || fields.names().stream().anyMatch(LockItem::isContent);
        }

        private static boolean isContent(String name) {
            return name.equals("data") || name.startsWith("attr.");
        }

        /** Null: it was only looked at. */
        public Hold hold() {
            return hold;
        }

        public String getPartitionKey() {
            return key;
        }

        public Optional<String> getSortKey() {
            return Optional.ofNullable(sortKey);
        }

        /** Who has it; null: this client itself, or nobody. */
        public String getOwnerName() {
            return fields.get("owner");
        }

        /** Another after each heartbeat; null: as of getOwnerName(). */
        public String getRecordVersionNumber() {
            return fields.get("version");
        }

        public boolean isExpired() {
            return hold == null ? !"held".equals(fields.get("state"))
                    : !hold.isValid();
        }

        /** What was in the lock when it was granted, or looked at. */
        public Optional<ByteBuffer> getData() {
            return Optional.ofNullable(fields.bytes("data"))
                    .map(ByteBuffer::wrap);
        }

        /** Those that were there, too. Of other types: in DynamoDB's JSON. */
        public Map<String, String> getAdditionalAttributes() {
            var attributes = new LinkedHashMap<String, String>();
            for (String name : fields.names()) {
                if (name.startsWith("attr."))
                    attributes.put(name.substring(5).replaceFirst(":json$",
                            ""), fields.get(name));
            }
            return attributes;
        }

        public void sendHeartBeat() throws InterruptedException {
            hold.renew();
        }

        private void release() {
            hold.release(isDeleted && isKept ? Map.of("keep", false)
                    : Map.of());
        }

        @Override
        public void close() {
            release();
        }
    }

    /** How to release a lock. */
    public static class ReleaseLockOptions {
        private final LockItem item;
        private boolean isBestEffort;

        private ReleaseLockOptions(LockItem item) {
            this.item = item;
        }

        public static Builder builder(LockItem item) {
            return new Builder(new ReleaseLockOptions(item));
        }

        public static class Builder {
            private final ReleaseLockOptions options;

            private Builder(ReleaseLockOptions options) {
                this.options = options;
            }

            /** Whatever goes wrong: not ours any more. */
            public Builder withBestEffort(boolean bestEffort) {
                options.isBestEffort = bestEffort;
                return this;
            }

            public ReleaseLockOptions build() {
                return options;
            }
        }
    }

    /** What to acquire, and how long to wait: the holder's lease, and more. */
    public static class AcquireLockOptions {
        private static final long LEASE_MS = 20000; // of one who just left
        private final Map<String, Object> arguments = new LinkedHashMap<>();
        private String key;
        private String sortKey;
        private boolean skipWait;
        private boolean isDeleted = true;
        private long moreMs;
        private Long periodMs; // null: the daemon's
        private Runnable monitor;

        private AcquireLockOptions() {
        }

        public static Builder builder(String partitionKey) {
            var builder = new Builder();
            builder.options.key = partitionKey;
            return builder;
        }

        private Hold acquire(DdblockClient client, boolean isRenewed)
                throws InterruptedException {
            if (!isRenewed)
                arguments.put("renew", "manual");
            if (arguments.containsKey("wait"))
                return client.acquire(key, arguments);
            try {
                return client.tryAcquire(key, arguments);
            } catch (DdblockException e) {
                if (skipWait || !e.code().equals("LOCK_BUSY"))
                    throw e;
            }
            var all = new LinkedHashMap<String, Object>(arguments);
            all.put("wait", Duration.ofMillis(leaseMs(client) + moreMs));
            if (periodMs != null)
                all.put("poll", Duration.ofMillis(periodMs));
            return client.acquire(key, all);
        }

        /** Of whoever has the lock now. */
        private long leaseMs(DdblockClient client)
                throws InterruptedException {
            var where = new HashMap<String, Object>(arguments);
            where.keySet().retainAll(Set.of("ns", "sort"));
            String lease = client.get(key, where).get("lease");
            return lease == null ? LEASE_MS : durationMs(lease);
        }

        public static class Builder {
            private final AcquireLockOptions options =
                    new AcquireLockOptions();
            private TimeUnit unit = TimeUnit.MILLISECONDS;
            private long more;
            private Long period;

            public Builder withTimeUnit(TimeUnit unit) {
                this.unit = unit;
                return this;
            }

            public Builder withAdditionalTimeToWaitForLock(Long time) {
                more = time;
                return this;
            }

            public Builder withRefreshPeriod(Long time) {
                period = time;
                return this;
            }

            public Builder withShouldSkipBlockingWait(boolean skip) {
                options.skipWait = skip;
                return this;
            }

            /** The daemon says when it is called: at half the lease. */
            public Builder withSessionMonitor(long safeTime,
                    Optional<Runnable> callback) {
                options.monitor = callback.orElse(null);
                return this;
            }

            public Builder withData(ByteBuffer data) {
                var bytes = new byte[data.remaining()];
                data.duplicate().get(bytes);
                return with("data", bytes);
            }

            public Builder withReplaceData(boolean replace) {
                return with("replace_data", replace);
            }

            /** Texts. */
            public Builder withAdditionalAttributes(Map<String, ?> attributes) {
                attributes.forEach((name, value) -> with("attr." + name,
                        value));
                return this;
            }

            public Builder withSortKey(String sortKey) {
                options.sortKey = sortKey;
                return with("sort", sortKey);
            }

            /** What is kept in the lock goes when it is released. */
            public Builder withDeleteLockOnRelease(boolean delete) {
                options.isDeleted = delete;
                return this;
            }

            /** Any argument of the protocol. */
            public Builder with(String name, Object value) {
                options.arguments.put(name, value);
                return this;
            }

            public AcquireLockOptions build() {
                options.moreMs = unit.toMillis(more);
                options.periodMs = period == null ? null
                        : unit.toMillis(period);
                return options;
            }
        }
    }
}
