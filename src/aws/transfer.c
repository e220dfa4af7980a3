/*
 * One HTTP exchange.
 *
 * libcurl repeats a request by itself when a kept-alive connection turns out
 * to be dead, and a server may have carried out the first. It asks before each
 * request it sends: the second of a transfer is refused, and that the first
 * was asked for says that it may have been carried out.
 */
#include "aws/transfer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/answer_room.h"
#include "aws/curl_setup.h"
#include "common/error.h"
#include "common/text.h"

/* What libcurl reads into, made and wiped for each request. */
#define TRANSFER_BUFFER_BYTES 1024L
#define TRANSFER_BUFFER_MANY_BYTES 16384L	/* of many items */
#define TRANSFER_EXPECT_BYTES 65536	/* libcurl asks first from 1 MiB on */
#define TRANSFER_KEEP_BYTES 65536	/* of an answer's buffer */
#define TRANSFER_REASON_MAX (RESPONSE_TEXT_MAX + CURL_ERROR_SIZE)
#define TRANSFER_LIFE_MAX_S 3600L	/* follow the name from time to time */

/* One for all clients of the process, whose memory it is about; they are in one
 * event loop. */
static struct answer_room transfer_room;

static int
transfer_permit(void *arg, char *there, char *here, int there_port,
    int here_port)
{
	struct transfer *t = arg;

	(void)there;
	(void)here;
	(void)there_port;
	(void)here_port;
	if (t->out)
		return CURL_PREREQFUNC_ABORT;
	t->out = true;
	return CURL_PREREQFUNC_OK;
}

static size_t
transfer_write(char *from, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;

	if (!answer_room_take(&transfer_room, &t->share,
	    t->answer.length + size * n)) {
		t->crowded = true;
		return 0;
	}
	return buffer_append(&t->answer, from, size * n) == 0 ? size * n : 0;
}

static size_t
transfer_header(char *line, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;

	response_take_line(&t->response, line, size * n);
	return size * n;
}

/*
 * Whose order in the list is of no importance. No server compresses an answer
 * without an Accept-Encoding.
 */
static void
transfer_link_headers(struct transfer *t)
{
	static char type[] = "Content-Type: application/x-amz-json-1.0";
	static char no_expect[] = "Expect:";
	static char no_accept[] = "Accept:";
	struct buffer *token = &t->origin->token_line;
	char *lines[TRANSFER_HEADERS] = {
		t->origin->host_line, type, t->date_line, t->target_line,
		no_accept, t->authorization_line.data,
	};
	size_t n = TRANSFER_HEADERS - 2;

	if (token->data != NULL)
		lines[n++] = token->data;
	if (t->body_length >= TRANSFER_EXPECT_BYTES)
		lines[n++] = no_expect;

	for (size_t i = 0; i < n; i++) {
		t->headers[i].data = lines[i];
		t->headers[i].next = i + 1 < n ? &t->headers[i + 1] : NULL;
	}
}

static void
transfer_set_callbacks(struct transfer *t)
{
	CURL *e = t->easy;

	(void)curl_easy_setopt(e, CURLOPT_PRIVATE, t);
	(void)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->error);
	(void)curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, transfer_permit);
	(void)curl_easy_setopt(e, CURLOPT_PREREQDATA, t);
	(void)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, transfer_write);
	(void)curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
	(void)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, transfer_header);
	(void)curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
}

/* Taken apart once: libcurl does it for each request otherwise. */
static int
transfer_set_url(struct transfer *t, const char *url)
{
	if (t->url == NULL)
		t->url = curl_url();
	return t->url != NULL &&
	    curl_url_set(t->url, CURLUPART_URL, url, 0) == CURLUE_OK &&
	    curl_easy_setopt(t->easy, CURLOPT_CURLU, t->url) == CURLE_OK ?
	    0 : DDBLOCK_E_NOMEM;
}

/* What depends on where requests go, if they went elsewhere before. */
static int
transfer_set_route(struct transfer *t, const struct origin *o)
{
	if (t->route == o->route)
		return 0;
	t->route = 0;
	if (curl_setup_url(t->easy, o->endpoint.url, o->endpoint.tls,
	    o->ca_file) < 0 || transfer_set_url(t, o->endpoint.url) < 0)
		return DDBLOCK_E_NOMEM;
	t->route = o->route;
	return 0;
}

/* What never changes. */
static void
transfer_set_options(struct transfer *t)
{
	CURL *e = t->easy;

	transfer_set_callbacks(t);
	(void)curl_easy_setopt(e, CURLOPT_POST, 1L);
	(void)curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)curl_easy_setopt(e, CURLOPT_TCP_KEEPIDLE, 15L);
	(void)curl_easy_setopt(e, CURLOPT_TCP_KEEPINTVL, 15L);
	(void)curl_easy_setopt(e, CURLOPT_MAXLIFETIME_CONN,
	    TRANSFER_LIFE_MAX_S);
}

int
transfer_new(const struct tls *tls, uint64_t connect_timeout_ms,
    struct transfer **ret)
{
	struct transfer *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return DDBLOCK_E_NOMEM;
	buffer_init(&t->authorization_line, SIGV4_TEXT_MAX);
	buffer_init(&t->addresses, SIGV4_TEXT_MAX);
	buffer_init(&t->answer, TRANSFER_ANSWER_MAX);
	text_copy(t->date_line, sizeof(t->date_line), TRANSFER_DATE);
	text_copy(t->target_line, sizeof(t->target_line),
	    TRANSFER_TARGET TRANSFER_SERVICE);
	t->easy = curl_setup_new(connect_timeout_ms);
	if (t->easy == NULL || tls_share(tls, t->easy) < 0) {
		transfer_free(t);
		return DDBLOCK_E_NOMEM;
	}
	transfer_set_options(t);
	*ret = t;
	return 0;
}

void
transfer_free(struct transfer *t)
{
	if (t == NULL)
		return;
	answer_room_give(&transfer_room, &t->share);
	if (t->easy != NULL)
		curl_easy_cleanup(t->easy);
	curl_url_cleanup(t->url);
	origin_unref(t->origin);
	buffer_done(&t->authorization_line);
	buffer_done(&t->addresses);
	buffer_done(&t->answer);
	free(t);
}

static int
transfer_sign(struct transfer *t, uint64_t wall_s)
{
	struct origin *o = t->origin;
	char *date = t->date_line + strlen(TRANSFER_DATE);
	struct sigv4_header headers[] = {
		{ "content-type", "application/x-amz-json-1.0" },
		{ "host", o->endpoint.authority },
		{ "x-amz-date", date },
		{ "x-amz-target", t->target_line + strlen(TRANSFER_TARGET) },
		{ "x-amz-security-token", o->credentials.session_token },
	};
	struct sigv4_request request = {
		.method = "POST",
		.path = "/",
		.query = "",
		.headers = headers,
		.n_headers = o->credentials.session_token != NULL ? 5 : 4,
		.body = t->body,
		.body_length = t->body_length,
	};

	sigv4_date(wall_s, date);
	buffer_clear(&t->authorization_line);
	(void)buffer_append_text(&t->authorization_line, "Authorization: ");
	return sigv4_sign(&o->sigv4, &request, date, &t->authorization_line);
}

/* A permanent entry in the pool's name cache: libcurl looks up nothing. */
static int
transfer_set_addresses(struct transfer *t, const char *addresses,
    uint32_t number)
{
	if (addresses == NULL)
		return 0;
	buffer_clear(&t->addresses);
	if (buffer_printf(&t->addresses, "%s:%s:%s", t->origin->endpoint.host,
	    t->origin->endpoint.port, addresses) < 0)
		return DDBLOCK_E_NOMEM;
	t->resolve.data = t->addresses.data;
	t->resolve.next = NULL;
	if (curl_easy_setopt(t->easy, CURLOPT_RESOLVE, &t->resolve) != CURLE_OK)
		return DDBLOCK_E_NOMEM;
	t->addresses_number = number;
	return 0;
}

void
transfer_set_idle_max(struct transfer *t, uint64_t idle_max_s)
{
	(void)curl_easy_setopt(t->easy, CURLOPT_FRESH_CONNECT,
	    idle_max_s == 0 ? 1L : 0L);
	(void)curl_easy_setopt(t->easy, CURLOPT_MAXAGE_CONN,
	    idle_max_s < TRANSFER_IDLE_MAX_S ?
	    (long)idle_max_s : TRANSFER_IDLE_MAX_S);
}

static bool
transfer_reads_many(const char *operation)
{
	return strcmp(operation, "Scan") == 0 ||
	    strcmp(operation, "BatchGetItem") == 0;
}

int
transfer_begin(struct transfer *t, struct origin *origin,
    const char *operation, const char *body, size_t body_length,
    uint64_t wall_s, const char *addresses, uint32_t addresses_number)
{
	int r;

	t->origin = origin_ref(origin);
	t->body = body;
	t->body_length = body_length;
	t->out = false;
	t->crowded = false;
	response_begin(&t->response);
	t->error[0] = '\0';
	text_copy(t->target_line + strlen(TRANSFER_TARGET TRANSFER_SERVICE),
	    TRANSFER_OPERATION_MAX + 1, operation);
	r = transfer_set_route(t, origin);
	if (r == 0)
		r = transfer_sign(t, wall_s);
	if (r == 0)
		r = transfer_set_addresses(t, addresses, addresses_number);
	if (r < 0)
		return r;

	transfer_link_headers(t);
	(void)curl_easy_setopt(t->easy, CURLOPT_BUFFERSIZE,
	    transfer_reads_many(operation) ? TRANSFER_BUFFER_MANY_BYTES :
	    TRANSFER_BUFFER_BYTES);
	/* With the head, in one packet. */
	if (curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers) !=
	    CURLE_OK || curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE,
	    (curl_off_t)body_length) != CURLE_OK ||
	    curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, body) != CURLE_OK)
		return DDBLOCK_E_NOMEM;
	return 0;
}

static void
transfer_reason(struct transfer *t, CURLcode result, char *text, size_t size)
{
	const char *reason;

	if (tls_reason(t->easy, result, t->error, t->origin->ca_file, text,
	    size))
		return;
	if (t->crowded)
		reason = "the answer is large, and there is no room for it "
			 "beside others that are being read";
	else if (buffer_failed(&t->answer) < 0)
		reason = "the answer is too large";
	else if (result == CURLE_ABORTED_BY_CALLBACK ||
	    result == CURLE_GOT_NOTHING)
		reason = "the connection was closed without an answer";
	else if (result == CURLE_PARTIAL_FILE)
		reason = "the answer was cut off";
	else if (t->error[0] != '\0')
		reason = t->error;
	else
		reason = curl_easy_strerror(result);
	(void)snprintf(text, size, "%s", reason);
}

/* True: there is an answer, whole. Else the reason is in @reason. */
static bool
transfer_is_answered(struct transfer *t, CURLcode result, long status,
    char reason[TRANSFER_REASON_MAX])
{
	if (result != CURLE_OK || status <= 0) {
		transfer_reason(t, result, reason, TRANSFER_REASON_MAX);
		return false;
	}
	if (response_check(&t->response, (int)status,
	    t->answer.data != NULL ? t->answer.data : "", t->answer.length,
	    reason))
		return true;
	/* It is not known whose clock that is. */
	t->response.date_s = 0;
	return false;
}

void
transfer_result(struct transfer *t, CURLcode result, struct aws_answer *ret)
{
	char reason[TRANSFER_REASON_MAX];
	long status = 0;

	*ret = (struct aws_answer){
		.text = "", .body = "", .signer = t->origin->number,
	};
	(void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (transfer_is_answered(t, result, status, reason)) {
		ret->status = (int)status;
		ret->maybe_applied = true;
		ret->retry_after_ms = t->response.retry_after_ms;
		if (t->answer.data != NULL)
			ret->body = t->answer.data;
		ret->body_length = t->answer.length;
		return;
	}
	ret->code = DDBLOCK_E_UNREACHABLE;
	ret->maybe_applied = t->out;
	(void)snprintf(t->text, sizeof(t->text), "%s: %s",
	    t->origin->endpoint.authority, reason);
	ret->text = t->text;
}

void
transfer_end(struct transfer *t)
{
	t->call = NULL;
	t->body = NULL;
	origin_unref(t->origin);
	t->origin = NULL;
	if (t->addresses_number != 0) {
		(void)curl_easy_setopt(t->easy, CURLOPT_RESOLVE, NULL);
		t->addresses_number = 0;
	}
	answer_room_give(&transfer_room, &t->share);
	buffer_clear(&t->answer);
	if (t->answer.size > TRANSFER_KEEP_BYTES)
		buffer_done(&t->answer);
}
