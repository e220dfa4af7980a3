/*
 * Hints between three hosts, with any bytes between them: what is accepted is
 * what a peer sent, unchanged and once; no sequence is used twice; each
 * datagram is counted once. And addresses as text, compared with libc's.
 *
 * An input is lines. Hosts are a, b and c; a datagram is a number, the last one
 * that was made is 0, the one before it 1.
 *
 *	meet A B	A knows B from now on; forget A B, no longer
 *	at A ADDRESS	A says that its address is this one
 *	renew A		a new process goes on with A's session
 *	send A B KIND N	KIND: freed, wanted, broken, changed, ping, pong
 *	raw BYTES	a datagram of these bytes
 *	head BYTES	one with the head of the last, and these bytes
 *	flip DATAGRAM BYTE BITS
 *	cut DATAGRAM LENGTH
 *	deliver DATAGRAM A
 *	body BYTES	a body that was sealed
 *	wait MS
 *	address TEXT
 */
#include "fuzz.h"

#include <arpa/inet.h>

#include "hints/hints.h"

#define HOSTS 3
#define DATAGRAMS 64
#define BYTES_MAX 256
#define WORDS 5

struct datagram {
	uint8_t bytes[BYTES_MAX];
	size_t length;
	uint8_t sent[HINT_BYTES];	/* as it was made, if it was: */
	bool was_sent;
	unsigned from, to;
	unsigned accepted;	/* the epoch in which it was, or 0 */
};

struct fuzz_host {
	struct hints *hints;
	struct hint_party party;
	struct hint_address own;	/* of its socket */
	struct hint_address address;	/* that it says */
	uint8_t life;
	uint64_t last_sequence;
	uint64_t n_decoded;
	unsigned epochs[HOSTS];	/* of what it remembers of each */
};

static struct fuzz_host hosts[HOSTS];
static struct datagram datagrams[DATAGRAMS];
static unsigned n_datagrams;
static uint64_t now_ms;

/* ---- words -------------------------------------------------------------- */

static struct fuzz_input
words_next(struct fuzz_input *line)
{
	struct fuzz_input word;

	while (line->length > 0 && *line->at == ' ')
		(void)fuzz_byte(line);
	word = (struct fuzz_input){ line->at, 0 };
	while (line->length > 0 && *line->at != ' ') {
		(void)fuzz_byte(line);
		word.length++;
	}
	return word;
}

static bool
word_is(const struct fuzz_input *word, const char *text)
{
	return word->length == strlen(text) &&
	    memcmp(word->at, text, word->length) == 0;
}

static uint64_t
words_number(struct fuzz_input *line)
{
	const struct fuzz_input word = words_next(line);
	uint64_t n = 0;

	for (size_t i = 0; i < word.length && i < 6; i++)
		n = 10 * n + (uint64_t)(unsigned char)(word.at[i] - '0') % 10;
	return n;
}

static unsigned
words_host(struct fuzz_input *line)
{
	const struct fuzz_input word = words_next(line);

	return word.length > 0 ? (unsigned char)(word.at[0] - 'a') %
	    HOSTS : 0;
}

static struct datagram *
words_datagram(struct fuzz_input *line)
{
	const uint64_t back = words_number(line) % DATAGRAMS;

	return &datagrams[(n_datagrams + DATAGRAMS - 1 - back) % DATAGRAMS];
}

static enum hint_kind
words_kind(struct fuzz_input *line)
{
	static const char *const kinds[] = {
		[HINT_FREED] = "freed", [HINT_WANTED] = "wanted",
		[HINT_BROKEN] = "broken", [HINT_CHANGED] = "changed",
		[HINT_PING] = "ping", [HINT_PONG] = "pong",
		[HINT_WATCHING] = "watching", [HINT_USED] = "used",
	};
	const struct fuzz_input word = words_next(line);

	for (unsigned i = HINT_FREED; i <= HINT_USED; i++)
		if (word_is(&word, kinds[i]))
			return (enum hint_kind)i;
	return word.length > 0 ? (enum hint_kind)(unsigned char)word.at[0] :
	    HINT_FREED;
}

/* ---- hosts -------------------------------------------------------------- */

static void
host_begin(unsigned i)
{
	struct fuzz_host *h = &hosts[i];
	uint8_t private_key[HINT_KEY_BYTES];

	memset(&h->party.id, 'a' + (int)i, sizeof(h->party.id));
	memset(private_key, ++h->life, sizeof(private_key));
	private_key[0] = (uint8_t)(16 * i);
	FUZZ_CHECK(hints_add_session(h->hints, &h->party.id, private_key,
	    h->party.public_key) == 0);
	h->last_sequence = 0;
}

static void
host_new(unsigned i)
{
	static const struct hints_limits limits = {
		.peers_max = HOSTS,
		.peer = { 10, 20 }, .unknown = { 1, 5 },
		.address = { 10, 20 }, .all = { 20, 30 },
	};
	const struct siphash_key key = { { i, 7 } };
	struct fuzz_host *h = &hosts[i];

	*h = (struct fuzz_host){ .own = { .ip = { [10] = 0xff, 0xff, 10,
		0, 0, (uint8_t)(1 + i) }, .port = 7400 } };
	h->address = h->own;
	FUZZ_CHECK(hints_new(&limits, &h->own, &key, &h->hints) == 0);
	for (unsigned j = 0; j < HOSTS; j++)
		h->epochs[j] = 1;
	host_begin(i);
}

static void
host_meet(unsigned i, unsigned j)
{
	FUZZ_CHECK((hints_add_peer(hosts[i].hints, &hosts[i].party.id,
	    &hosts[j].party, &hosts[j].address) == 0) == (i != j));
}

static void
host_forget(unsigned i, unsigned j)
{
	hints_forget_peer(hosts[i].hints, &hosts[i].party.id,
	    &hosts[j].party.id);
	hosts[i].epochs[j]++;
}

/* It remembers nothing, and the others will begin again when they meet it. */
static void
host_renew(unsigned i)
{
	if (hosts[i].life == 250)	/* each key is used once */
		return;
	hints_forget_session(hosts[i].hints, &hosts[i].party.id);
	host_begin(i);
	for (unsigned j = 0; j < HOSTS; j++) {
		hosts[i].epochs[j]++;
		hosts[j].epochs[i]++;
	}
}

static uint64_t
host_decoded(const struct fuzz_host *h)
{
	const struct hints_counters *n = hints_counters(h->hints);

	return n->accepted + n->malformed + n->not_ours + n->unknown +
	    n->over_rate + n->forged + n->replayed + n->late;
}

/* ---- datagrams ---------------------------------------------------------- */

static struct datagram *
datagram_new(void)
{
	struct datagram *d = &datagrams[n_datagrams++ % DATAGRAMS];

	memset(d, 0, sizeof(*d));
	return d;
}

static void
datagram_send(unsigned from, unsigned to, enum hint_kind kind, uint64_t n)
{
	struct fuzz_host *h = &hosts[from];
	struct hint_body body = { .kind = kind, .n_digests = (uint8_t)n };
	struct hint_address address;
	struct hint_head head;
	struct datagram *d;
	uint8_t bytes[HINT_BYTES];
	int r;

	memset(body.digests, (int)n, sizeof(body.digests));
	r = hints_encode(h->hints, &h->party.id, &hosts[to].party.id, &body,
	    now_ms, bytes, &address);
	if (r < 0)
		return;
	FUZZ_CHECK(hint_format_is_sound(&body));
	FUZZ_CHECK(hint_address_judge(&address, &h->own) ==
	    HINT_ADDRESS_ALLOWED);
	FUZZ_CHECK(hint_format_read_head(bytes, sizeof(bytes), &head));
	FUZZ_CHECK(head.sequence > h->last_sequence);
	h->last_sequence = head.sequence;
	d = datagram_new();
	memcpy(d->bytes, bytes, sizeof(bytes));
	memcpy(d->sent, bytes, sizeof(bytes));
	d->length = sizeof(bytes);
	d->was_sent = true;
	d->from = from;
	d->to = to;
}

static void
datagram_raw(const struct fuzz_input *bytes, bool with_head)
{
	const struct datagram *last =
	    &datagrams[(n_datagrams + DATAGRAMS - 1) % DATAGRAMS];
	uint8_t head[HINT_HEAD_BYTES];
	const size_t before = with_head ? sizeof(head) : 0;
	size_t length = bytes->length;
	struct datagram *d;

	memcpy(head, last->bytes, sizeof(head));
	d = datagram_new();
	if (length > BYTES_MAX - before)
		length = BYTES_MAX - before;
	memcpy(d->bytes, head, before);
	if (length > 0)
		memcpy(d->bytes + before, bytes->at, length);
	d->length = with_head ? HINT_BYTES : length;
}

static void
datagram_deliver(struct datagram *d, unsigned at)
{
	struct fuzz_host *h = &hosts[at];
	char *exact = fuzz_exact_copy((const char *)d->bytes, d->length);
	struct hint hint;
	const enum hint_verdict verdict = hints_decode(h->hints, exact,
	    d->length, now_ms, &hint);

	free(exact);
	FUZZ_CHECK(host_decoded(h) == ++h->n_decoded);
	FUZZ_CHECK(hint_format_is_sound(&hint.body) ==
	    (verdict == HINT_ACCEPTED));
	if (verdict != HINT_ACCEPTED)
		return;
	FUZZ_CHECK(d->was_sent && d->to == at && d->length == HINT_BYTES &&
	    memcmp(d->bytes, d->sent, HINT_BYTES) == 0);
	FUZZ_CHECK(hint_id_equal(&hint.head.sender,
	    &hosts[d->from].party.id));
	FUZZ_CHECK(d->accepted != h->epochs[d->from]);
	d->accepted = h->epochs[d->from];
}

/* ---- what is read ------------------------------------------------------- */

static void
body_read(const struct fuzz_input *in)
{
	uint8_t bytes[HINT_BODY_BYTES] = { 0 }, again[HINT_BODY_BYTES];
	struct hint_body body;

	memcpy(bytes, in->at, in->length < sizeof(bytes) ? in->length :
	    sizeof(bytes));
	if (!hint_format_read_body(bytes, &body))
		return;
	FUZZ_CHECK(hint_format_is_sound(&body));
	hint_format_write_body(&body, again);
	FUZZ_CHECK(memcmp(bytes, again, sizeof(bytes)) == 0);
}

/* By libc; the port must be there, and has been looked at. */
static bool
address_by_libc(char *text, uint8_t ret[HINT_IP_BYTES])
{
	char *colon = strrchr(text, ':');
	const size_t length = colon != NULL ? (size_t)(colon - text) : 0;

	if (length == 0)
		return false;
	*colon = '\0';
	memset(ret, 0, HINT_IP_BYTES);
	memset(ret + 10, 0xff, 2);
	if (text[0] != '[')
		return inet_pton(AF_INET, text, ret + 12) == 1;
	if (text[length - 1] != ']')
		return false;
	text[length - 1] = '\0';
	return inet_pton(AF_INET6, text + 1, ret) == 1;
}

static bool
address_has_port(const char *text)
{
	const char *colon = strrchr(text, ':');
	const size_t n = colon != NULL ? strlen(colon + 1) : 0;

	return n > 0 && n < 6 && strspn(colon + 1, "0123456789") == n &&
	    (colon[1] != '0' || n == 1) &&
	    strtoul(colon + 1, NULL, 10) <= UINT16_MAX;
}

static void
address_read(const struct fuzz_input *in, struct hint_address *ret)
{
	char *exact = fuzz_exact_copy(in->at, in->length);
	char *copy = fuzz_copy(in->at, in->length);
	const bool has_port = strlen(copy) == in->length &&
	    address_has_port(copy);
	char text[HINT_ADDRESS_TEXT_MAX];
	uint8_t ip[HINT_IP_BYTES];
	struct hint_address a, again;
	const bool parsed = hint_address_parse(exact, in->length, &a);

	FUZZ_CHECK(parsed == (has_port && address_by_libc(copy, ip)));
	if (parsed) {
		FUZZ_CHECK(memcmp(ip, a.ip, sizeof(ip)) == 0);
		hint_address_format(&a, text);
		FUZZ_CHECK(hint_address_parse(text, strlen(text), &again));
		FUZZ_CHECK(hint_address_equal(&a, &again));
		*ret = a;
	}
	free(copy);
	free(exact);
}

static void
line_run(struct fuzz_input *line)
{
	const struct fuzz_input verb = words_next(line);
	struct datagram *d;
	struct hint_address address;
	unsigned i;

	if (line->length > 0)
		(void)fuzz_byte(line);	/* the space */
	if (word_is(&verb, "address")) {
		address_read(line, &address);
	} else if (word_is(&verb, "body")) {
		body_read(line);
	} else if (word_is(&verb, "raw") || word_is(&verb, "head")) {
		datagram_raw(line, word_is(&verb, "head"));
	} else if (word_is(&verb, "at")) {
		i = words_host(line);
		(void)fuzz_byte(line);
		address_read(line, &hosts[i].address);
	} else if (word_is(&verb, "meet")) {
		i = words_host(line);
		host_meet(i, words_host(line));
	} else if (word_is(&verb, "forget")) {
		i = words_host(line);
		host_forget(i, words_host(line));
	} else if (word_is(&verb, "renew")) {
		host_renew(words_host(line));
	} else if (word_is(&verb, "send")) {
		i = words_host(line);
		const unsigned to = words_host(line);
		const enum hint_kind kind = words_kind(line);

		datagram_send(i, to, kind, words_number(line));
	} else if (word_is(&verb, "flip")) {
		d = words_datagram(line);
		i = (unsigned)words_number(line) % BYTES_MAX;
		d->bytes[i] ^= (uint8_t)words_number(line);
	} else if (word_is(&verb, "cut")) {
		d = words_datagram(line);
		d->length = words_number(line) % (BYTES_MAX + 1);
	} else if (word_is(&verb, "deliver")) {
		d = words_datagram(line);
		datagram_deliver(d, words_host(line));
	} else if (word_is(&verb, "wait")) {
		now_ms += words_number(line);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size), line;

	memset(datagrams, 0, sizeof(datagrams));
	n_datagrams = 0;
	now_ms = 1000000;
	for (unsigned i = 0; i < HOSTS; i++)
		host_new(i);
	while (fuzz_line(&in, &line))
		line_run(&line);
	for (unsigned i = 0; i < HOSTS; i++)
		hints_free(hosts[i].hints);
	return 0;
}
