package ddblock;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
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
import java.util.concurrent.ExecutionException;

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
 * One file, Java 17 only, Linux; copy it. It speaks ddblock-protocol(7). A hold
 * belongs to its connection: when the client is closed or the process ends, the
 * daemon gives the lock to the next waiter. A hold that was acquired with
 * {@code "linger", "1m"} stays for so long: {@code client.resume(secret)}
 * brings it back, on another connection.
 *
 * <p>With {@code "resume", true} in {@code connect} the client connects again
 * when the daemon ends the connection, by a restart for example, and its holds
 * go on: meanwhile each is valid until half a margin before its deadline,
 * afterwards it is either valid or lost. Requests fail meanwhile (NO_DAEMON),
 * and so do those that were under way; what they may have been granted is given
 * back. A release is done later. Events BROKEN and RESUMED tell of it. A client
 * that keeps no hold at that moment ends, and its requests fail from then on: a
 * program that lives long makes a new client when it needs one.
 *
 * <p>Every hold has a deadline that renewals move on, and counts down by
 * itself: a daemon that is stopped or dead cannot keep {@code hold.isValid()}
 * true. {@code hold.lost()} is a future that tells of the loss,
 * {@code nextEvent} tells more.
 *
 * <p>Arguments of a request go to the daemon unchanged, so arguments of newer
 * daemons can be used without a new client, as can verbs, by {@code request}:
 * strings, byte[], numbers, Boolean (yes and no), Duration, and List (joined
 * with commas). Any number of threads may use a client. An interrupt gives the
 * request up; a late grant is released.
 */
public final class DdblockClient implements AutoCloseable {
    /** The daemon's socket, unless $DDBLOCK_SOCKET is set. */
    public static final String DEFAULT_SOCKET = "/run/ddblockd/ddblockd.sock";
    private static final int EVENTS_MAX = 1024; // unread; the oldest go first
    private static final int LINE_MAX = 1 << 20;
    // Timers stop while the host sleeps; its boot-time clock does not.
    private static final long LOOK_MS = 1000;
    // Longer times are more than a number of nanoseconds can be.
    private static final Duration LONGEST = Duration.ofDays(36500);
    // The deadline of a hold without a deadline.
    private static final long NEVER_MS = Long.MAX_VALUE;
    // The clock cannot be read: no hold is valid now, and none is lost by that.
    private static final long NO_CLOCK_MS = Long.MAX_VALUE;
    private static final Set<String> CANCELLABLE =
            Set.of("ACQUIRE", "TRY", "LIST", "HELD", "WAITING");
    // Of a request that was not run.
    private static final Set<String> REFUSED =
            Set.of("BAD_REQUEST", "UNSUPPORTED");
    // Reasons for the end of a connection after which there is no other: such
    // as that another client resumed its holds.
    private static final Set<String> FINAL = Set.of("LOCK_NOT_OWNED", "DENIED",
            "BAD_REQUEST", "PROTOCOL");
    // Between two tries to connect again: from this to that.
    private static final long PAUSE_MS = 50;
    private static final long PAUSE_MAX_MS = 1000;

    /**
     * A request failed. The code is a word of the protocol; NO_DAEMON: there
     * is no connection (any more); PROTOCOL: the answer was not understood.
     */
    public static class DdblockException extends RuntimeException {
        private static final long serialVersionUID = 1;
        /** A word of the protocol. */
        private final String code;
        /** For people. */
        private final String text;
        private final transient Fields fields;

        private DdblockException(String code, String text) {
            this(code, text, new Fields());
        }

        /** A failure; the text is for people. */
        public DdblockException(String code, String text, Fields fields) {
            super(text.isEmpty() ? code : code + ": " + text);
            this.code = code;
            this.text = text;
            this.fields = fields;
        }

        /** A word of the protocol, such as LOCK_BUSY. */
        public String code() {
            return code;
        }

        /** For people. */
        public String text() {
            return text;
        }

        /** All fields of the daemon's answer. */
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

        /** None. */
        public Fields() {
        }

        /** The names that are there. */
        public Set<String> names() {
            return values.keySet();
        }

        /** As it is; null if it is not there. */
        public byte[] bytes(String name) {
            return values.get(name);
        }

        /** As text; null if it is not there. */
        public String get(String name) {
            byte[] value = values.get(name);
            return value == null ? null
                    : new String(value, StandardCharsets.UTF_8);
        }

        /** As a duration, such as 250ms or 9.5s; null if it is not there. */
        public Duration duration(String name) {
            String text = get(name);
            return text == null ? null : Duration.ofMillis(durationMs(text));
        }

        /** As a number; the other one if it is none. */
        public long number(String name, long otherwise) {
            try {
                return Long.parseLong(get(name));
            } catch (NumberFormatException e) {
                return otherwise;
            }
        }
    }

    /** The fields of OK, the rows before it, and the hold of a grant. */
    public record Reply(Fields fields, String text, List<Fields> rows,
            Hold hold) {
    }

    /**
     * An event from the daemon, such as LOCK_IN_DANGER. LOCK_LOST also comes
     * from here, with reason=expired or, when the connection ended,
     * reason=disconnected. The hold is that of the event, or null.
     */
    public record Event(String name, Fields fields, Hold hold) {
    }

    // ---- the wire ---------------------------------------------------------

    // Once opened it stays so: later there may be no file descriptor left. (No
    // channel, which an interrupt of its reader would close.)
    private static RandomAccessFile uptime;

    /**
     * CLOCK_BOOTTIME, which is the clock of all deadlines, in steps of 10 ms.
     * The clock may be a step ahead of what is read, so the next step is used.
     */
    static synchronized long bootMs() {
        try {
            if (uptime == null)
                uptime = new RandomAccessFile("/proc/uptime", "r");
            var line = new byte[64];
            uptime.seek(0);
            int length = uptime.read(line);
            String text = new String(line, 0, length,
                    StandardCharsets.US_ASCII);
            String seconds = text.substring(0, text.indexOf(' '));
            return Long.parseLong(seconds.replace(".", "")) * 10 + 10;
        } catch (IOException e) {
            return NO_CLOCK_MS;
        }
    }

    /** A value in its form on the wire. */
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

    /** A lock that this client holds. */
    public final class Hold implements AutoCloseable {
        private final String key;
        private final String id;
        private final String ns;
        private final boolean isManual; // only its own RENEW moves it
        private final boolean isKept; // if the daemon ends the connection
        private final long marginMs;
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
            isKept = resumes && (fields.get("secret") != null
                    || pending.verb.equals("RESUME"));
            marginMs = fields.get("margin") == null ? 0
                    : durationMs(fields.get("margin"));
            for (Fields row : pending.rows)
                tokens.put(row.get("key"), row);
            if (pending.rows.isEmpty())
                tokens.put(key, fields);
            if (id == null || untilBootMs < 0)
                throw new DdblockException("PROTOCOL",
                        "cannot read the grant", fields);
        }

        /** The key; of several, the first. */
        public String key() {
            return key;
        }

        /** The name of this hold, by which requests mean it. */
        public String id() {
            return id;
        }

        /** The fencing token; of several locks, that of the first. */
        public long token() {
            return token(key);
        }

        /** The token of one lock of several; 0: the key is not among them. */
        public long token(String key) {
            Fields told = tokens.get(key);
            return told == null ? 0 : told.number("token", 0);
        }

        /**
         * The token in decimal: in some formats of older clients there are
         * tokens too large for a number, and token() is 0.
         */
        public String tokenText() {
            return tokenText(key);
        }

        /** The same for one lock of several. */
        public String tokenText(String key) {
            Fields told = tokens.get(key);
            String text = told == null ? null : told.get("token_text");
            return text != null ? text : Long.toString(token(key));
        }

        /** exclusive, or shared. */
        public String mode() {
            String mode = fields.get("mode");
            return mode == null ? "exclusive" : mode;
        }

        /** The namespace of the lock. */
        public String ns() {
            return ns;
        }

        /** All fields of the grant. */
        public Fields fields() {
            return fields;
        }

        /** How often it is held: once, if it is not reentrant; 0: released. */
        public long count() {
            synchronized (mutex) {
                return count;
            }
        }

        /** May the guarded resource be used? Only before the deadline. */
        public boolean isValid() {
            return !remaining().isZero();
        }

        /** Time to the deadline, unless a renewal moves it on. */
        public Duration remaining() {
            synchronized (mutex) {
                if (count <= 0 || reason != null)
                    return Duration.ZERO;
                return Duration.ofMillis(Math.max(goodMs() - bootMs(), 0));
            }
        }

        /** The deadline; without a connection half a margin earlier. */
        private long goodMs() {
            return untilBootMs - (isAway ? marginMs / 2 : 0);
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

        /** Renew it now: a proof that the store answers. */
        public void renew() throws InterruptedException {
            renew(Map.of());
        }

        /** The same with arguments of RENEW. */
        public void renew(Map<String, ?> arguments)
                throws InterruptedException {
            Fields answer = request("RENEW", null, withId(arguments)).fields();
            synchronized (mutex) {
                extend(answer);
            }
        }

        /**
         * Release it, once. Fails with LOCK_LOST if it was lost before. A
         * second release does nothing. It waits no longer than the hold's
         * deadline.
         */
        public void release() {
            release(Map.of());
        }

        /** The same with arguments of RELEASE. */
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
                if (isAway) { // it is given back when it is found
                    count--;
                    forget(this);
                    return;
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

        /** By which CANCEL and events mean it. */
        public String tag() {
            return tag;
        }

        /** Wait for the reply. An interrupt gives the request up. */
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

        /** An exception of this thread, with the daemon's answer. */
        private DdblockException ours(ExecutionException e) {
            var cause = (DdblockException) e.getCause();
            return new DdblockException(cause.code, cause.text, cause.fields);
        }

        /** Give it up: it fails with CANCELLED, unless it was late. */
        public boolean cancel() throws InterruptedException {
            return "yes".equals(request("CANCEL", null, Map.of("tag", tag))
                    .fields().get("cancelled"));
        }

        /** The caller does not wait any more. A grant is released. */
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

    /**
     * Rows of a listing, as they come. Closing it early cancels the listing.
     */
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
    private final Path path;
    private final Selector selector;
    private SocketChannel channel;
    private SelectionKey selection; // null: there is no connection
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
    private DdblockException ended; // for later callers

    private Map<String, ?> greeting; // the arguments of HELLO
    private boolean resumes; // does it connect again?
    private boolean isAway; // until RESUME is answered
    private final Set<String> found = new HashSet<>(); // by its rows
    private long pauseMs;
    private long retryMs; // the next try, in boot time

    private DdblockClient(Path path) throws IOException {
        this.path = path;
        selector = Selector.open();
        try {
            open();
        } catch (IOException e) {
            selector.close();
            throw e;
        }
        var thread = new Thread(this::run, "ddblock");
        thread.setDaemon(true);
        thread.start();
    }

    private void open() throws IOException {
        channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            channel.connect(UnixDomainSocketAddress.of(path));
            channel.configureBlocking(false);
            selection = channel.register(selector, SelectionKey.OP_READ);
        } catch (IOException e) {
            channel.close();
            throw e;
        }
    }

    /** A connection to $DDBLOCK_SOCKET, or else to the default path. */
    public static DdblockClient connect(Map<String, ?> arguments)
            throws InterruptedException {
        String path = System.getenv("DDBLOCK_SOCKET");
        return connect(Path.of(path == null || path.isEmpty()
                ? DEFAULT_SOCKET : path), arguments);
    }

    /**
     * A connection; the arguments, such as name, are those of HELLO. With
     * "resume" among them, if it is true, it is opened again (above).
     */
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
        Object named = all.remove("resume");
        boolean resume = named != null && encode(named).equals("yes");
        all.put("proto", 1);
        all.put("renewed", true);
        try {
            client.hello = client.request("HELLO", null, all);
            synchronized (client.mutex) {
                client.greeting = all;
                client.resumes = resume;
                // An older daemon refuses that, and keeps what lingers.
                if (resume)
                    client.sendUnheard("HELLO", Map.of("resume", true));
            }
        } catch (RuntimeException | InterruptedException e) {
            client.close();
            throw e;
        }
        return client;
    }

    /** The daemon's answer to HELLO. */
    public Reply hello() {
        return hello;
    }

    /** The secret that resumes lingering holds, also after the end; or null. */
    public String secret() {
        synchronized (mutex) {
            return secret;
        }
    }

    /** End the connection. The daemon releases all holds that do not linger. */
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
            if (isAway)
                throw new DdblockException("NO_DAEMON",
                        "the connection broke; another is tried");
            return send(verb, key, arguments);
        }
    }

    private Pending send(String verb, Object key, Map<String, ?> arguments) {
        synchronized (mutex) {
            List<?> keys = key == null ? List.of()
                    : key instanceof List<?> several ? several : List.of(key);
            var request = new Pending(String.valueOf(++serial), verb,
                    keys.isEmpty() ? null : encode(keys.get(0)), arguments);
            var line = new StringBuilder("#" + request.tag + " " + verb);
            for (Object each : keys) {
                String encoded = encode(each);
                // It would be dropped on the way, without a word.
                if (encoded.isEmpty())
                    throw new DdblockException("BAD_REQUEST",
                            "a key is empty");
                line.append(' ').append(encoded);
            }
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

    /** The lock, as soon as it is free. */
    public Hold acquire(Object key) throws InterruptedException {
        return acquire(key, Map.of());
    }

    /** The lock if it is free; else it fails with LOCK_BUSY. */
    public Hold tryAcquire(Object key, Map<String, ?> arguments)
            throws InterruptedException {
        return request("TRY", key, arguments).hold();
    }

    /** The lock if it is free; else LOCK_BUSY. */
    public Hold tryAcquire(Object key) throws InterruptedException {
        return tryAcquire(key, Map.of());
    }

    /**
     * Resume the lingering holds of another client by its secret, before the
     * first acquire here. Holds that were lost meanwhile are among them. To
     * give this up, close the client, and they linger again.
     */
    public List<Hold> resume(String secret) throws InterruptedException {
        var request = start("RESUME", null, Map.of("secret", secret));
        request.result();
        return List.copyOf(request.resumed.values());
    }

    /** The holder of the lock. */
    public Fields get(Object key, Map<String, ?> arguments)
            throws InterruptedException {
        return request("GET", key, arguments).fields();
    }

    /** The same, and from now on an event CHANGED at each change. */
    public Fields watch(Object key, Map<String, ?> arguments)
            throws InterruptedException {
        return request("WATCH", key, arguments).fields();
    }

    /** No more events CHANGED of this lock. */
    public void unwatch(Object key, Map<String, ?> arguments)
            throws InterruptedException {
        request("UNWATCH", key, arguments);
    }

    /**
     * For administrators: take the lock from its holder, if the holder has this
     * token, or, with token 0, if the record still is the "record" of get().
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

    /** The holds of this daemon's clients. */
    public Rows held(Map<String, ?> arguments) {
        return new Rows(start("HELD", null, arguments));
    }

    /** The locks that they wait for. */
    public Rows waiting(Map<String, ?> arguments) {
        return new Rows(start("WAITING", null, arguments));
    }

    /** The daemon's next event; null: none in that time, or the end. */
    public Event nextEvent(Duration timeout) throws InterruptedException {
        long end = System.nanoTime() + (timeout.compareTo(LONGEST) < 0
                ? timeout : LONGEST).toNanos();
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
        if (ended == null && !isAway)
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
            else if (line.kind.equals("ERR") && line.tag.isEmpty()
                    && (!resumes || FINAL.contains(line.word)))
                // It refuses the connection, not a request of ours.
                end(new DdblockException(line.word, line.text, line.fields));
        }
        rest.delete(0, start);
    }

    private void answer(Pending request, Line line) {
        mutex.notifyAll();
        if (isAway && request.verb.equals("RESUME")) {
            reopening(request, line);
            return;
        }
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

    /** A row of RESUME: a lock that this client holds from here on. */
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
     * The daemon says how often it is still held. A release that was refused
     * for its arguments is repeated without them.
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
                if (each.ns.equals(fields.get("ns")) && !each.isManual
                        && (!isAway || found.contains(each.id)))
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

    /** The hold is lost: once, and for ever. */
    private void lose(Hold hold, String reason, Fields fields) {
        holds.remove(hold.id);
        hold.reason = reason == null ? "unknown" : reason;
        // The daemon is stopped; its lock is free by now nevertheless.
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
            if (now >= hold.goodMs() && now != NO_CLOCK_MS)
                lose(hold, isAway ? "disconnected" : "expired");
        }
        if (isAway && holds.isEmpty())
            end("the connection broke");
    }

    /** The connection broke: another is tried, for what the daemon keeps. */
    private void part(String text) {
        if (ended != null)
            return;
        var error = new DdblockException("NO_DAEMON", text);
        selection = null;
        try {
            channel.close(); // and the selector forgets it
        } catch (IOException e) {
            // it is closed for us anyway
        }
        rest.setLength(0);
        outgoing.clear();
        pending.values().forEach(
                request -> request.future.completeExceptionally(error));
        pending.clear();
        for (Hold hold : List.copyOf(holds.values())) {
            hold.releasing.clear();
            if (!hold.isKept && hold.count > 0)
                lose(hold, "disconnected");
            forget(hold);
        }
        mutex.notifyAll();
        if (holds.isEmpty()) {
            end(error);
            return;
        }
        if (!isAway) {
            isAway = true;
            tell(new Event("BROKEN", new Fields(), null));
        }
        pause();
    }

    private void pause() {
        long now = bootMs();
        retryMs = now == NO_CLOCK_MS ? 0 // when it is looked again
                : now + (long) (pauseMs * (0.5 + Math.random()));
        pauseMs = Math.min(Math.max(2 * pauseMs, PAUSE_MS), PAUSE_MAX_MS);
    }

    /** Another connection, with its first requests. */
    private void reopen() {
        try {
            open();
        } catch (IOException e) {
            pause();
            return;
        }
        found.clear();
        send("HELLO", null, greeting);
        send("HELLO", null, Map.of("resume", true));
        send("RESUME", null, Map.of("secret", secret));
    }

    /** The answer to that RESUME. */
    private void reopening(Pending request, Line line) {
        if (line.kind.equals("+")) {
            find(line.fields);
            return;
        }
        pending.remove(request.tag);
        if (line.word.equals("SHUTTING_DOWN"))
            return; // its end follows, and then another try
        if (!line.kind.equals("OK")) {
            end("the daemon does not know the holds");
            return;
        }
        for (Hold hold : List.copyOf(holds.values())) {
            if (!found.contains(hold.id))
                lose(hold, "disconnected");
        }
        isAway = false;
        pauseMs = 0;
        tell(new Event("RESUMED", new Fields(), null));
    }

    /** A row of it: ours again, or to be given back. */
    private void find(Fields row) {
        String id = row.get("id");
        Hold hold = holds.get(id);
        if (!found.add(id))
            return;
        if (hold != null)
            hold.untilBootMs = row.number("until_boot_ms", hold.untilBootMs);
        for (long known = hold == null ? 0 : hold.count;
                known < row.number("count", 1); known++)
            send("RELEASE", null, Map.of("id", id)).isAbandoned = true;
        if (hold != null && "lost".equals(row.get("state")))
            lose(hold, row.get("reason"), row);
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
            // it is closed for us anyway
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
                    if (selection == null && bootMs() >= retryMs)
                        reopen();
                    if (selection == null)
                        judge();
                    else
                        exchange(buffer);
                }
            }
        } catch (IOException | RuntimeException e) {
            synchronized (mutex) {
                end("the connection ended: " + e);
            }
        }
    }

    private void exchange(ByteBuffer buffer) {
        int count;
        try {
            write();
            buffer.clear();
            count = channel.read(buffer);
        } catch (IOException e) {
            part("the connection ended: " + e);
            return;
        }
        if (count < 0)
            part("the daemon ended the connection");
        else if (count > 0)
            feed(new String(buffer.array(), 0, count,
                    StandardCharsets.ISO_8859_1));
        else // all input is read: no renewal is in it
            judge();
    }

    /** Until the next deadline; 0: until input comes. */
    private long selectMs() {
        synchronized (mutex) {
            long first = Long.MAX_VALUE;
            for (Hold hold : holds.values())
                first = Math.min(first, hold.goodMs());
            if (selection == null)
                first = Math.min(first, retryMs);
            long now = bootMs();
            if (holds.isEmpty())
                return 0;
            return now == NO_CLOCK_MS ? LOOK_MS
                    : Math.min(Math.max(first - now, 1), LOOK_MS);
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
}
