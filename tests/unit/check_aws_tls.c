/*
 * TLS with an endpoint: sessions that are resumed, versions, and certificates
 * of which each is bad in its own way, made on the spot.
 */
#include "config.h"

#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aws/client.h"
#include "common/error.h"
#include "http_stub.h"
#include "open_client.h"
#include "test.h"

#define TIMEOUT_MS 20000
#define DAY_S (24L * 3600)
#define HERE "IP:127.0.0.1"

struct fixture {
	struct event_base *base;
	struct stub stub;
	SSL_CTX *server;
	struct aws_client *client;
	char ca_file[64];
	char conf[64];		/* of OpenSSL */
	char text[512];		/* of the last answer */
	int status;
	bool answered;
};

static struct fixture f;

/* ---- the other side ---- */

static EVP_PKEY *key;

static X509 *
make_certificate(const char *host, long from_s, long until_s)
{
	X509 *x = X509_new();
	X509_EXTENSION *e;

	ck_assert_ptr_nonnull(x);
	ck_assert(X509_set_version(x, 2));
	ck_assert(ASN1_INTEGER_set(X509_get_serialNumber(x), 1));
	ck_assert_ptr_nonnull(X509_gmtime_adj(X509_getm_notBefore(x),
	    from_s));
	ck_assert_ptr_nonnull(X509_gmtime_adj(X509_getm_notAfter(x),
	    until_s));
	ck_assert(X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN",
	    MBSTRING_ASC, (const unsigned char *)"an endpoint", -1, -1, 0));
	ck_assert(X509_set_issuer_name(x, X509_get_subject_name(x)));
	e = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, host);
	ck_assert_ptr_nonnull(e);
	ck_assert(X509_add_ext(x, e, -1));
	X509_EXTENSION_free(e);
	ck_assert(X509_set_pubkey(x, key));
	ck_assert(X509_sign(x, key, EVP_sha256()));
	return x;
}

/* It goes into ca_file too: it is its own issuer. */
static void
set_certificate(const char *host, long from_s, long until_s)
{
	X509 *x = make_certificate(host, from_s, until_s);
	FILE *file = fopen(f.ca_file, "we");

	ck_assert_ptr_nonnull(file);
	ck_assert(PEM_write_X509(file, x));
	ck_assert_int_eq(fclose(file), 0);
	ck_assert(SSL_CTX_use_certificate(f.server, x));
	ck_assert(SSL_CTX_use_PrivateKey(f.server, key));
	X509_free(x);
}

static struct bufferevent *
speak_tls(struct stub *s, int fd)
{
	SSL *ssl = SSL_new(f.server);
	struct bufferevent *b;

	ck_assert_ptr_nonnull(ssl);
	b = bufferevent_openssl_socket_new(s->base, fd, ssl,
	    BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	ck_assert_ptr_nonnull(b);
	return b;
}

/* How many of the connections that are open were resumed. */
static unsigned int
count_resumed(void)
{
	unsigned int n = 0;

	for (size_t i = 0; i < f.stub.n_open; i++)
		n += SSL_session_reused(
		    bufferevent_openssl_get_ssl(f.stub.open[i])) != 0;
	return n;
}

/* ---- ours ---- */

/*
 * As on a host whose OpenSSL still allows old versions. Before its first use.
 */
static void
allow_old_versions(void)
{
	FILE *file;

	snprintf(f.conf, sizeof(f.conf), "check_aws_tls.%d.cnf",
	    (int)getpid());
	file = fopen(f.conf, "we");
	ck_assert_ptr_nonnull(file);
	fputs("openssl_conf = all\n[all]\nssl_conf = ssl\n"
	    "[ssl]\nsystem_default = those\n"
	    "[those]\nMinProtocol = TLSv1\n"
	    "CipherString = ALL:@SECLEVEL=0\n", file);
	ck_assert_int_eq(fclose(file), 0);
	setenv("OPENSSL_CONF", f.conf, 1);
}

static void
setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	memset(&f, 0, sizeof(f));
	allow_old_versions();
	key = EVP_EC_gen("P-256");
	ck_assert_ptr_nonnull(key);
	snprintf(f.ca_file, sizeof(f.ca_file), "check_aws_tls.%d.pem",
	    (int)getpid());
	f.server = SSL_CTX_new(TLS_server_method());
	ck_assert_ptr_nonnull(f.server);
	f.base = event_base_new();
	stub_init(&f.stub, f.base);
	f.stub.speak = speak_tls;
	set_certificate(HERE, -DAY_S, DAY_S);
}

static void
teardown(void)
{
	aws_client_free(f.client);
	stub_done(&f.stub);
	event_base_free(f.base);
	SSL_CTX_free(f.server);
	EVP_PKEY_free(key);
	(void)unlink(f.ca_file);
	(void)unlink(f.conf);
}

static void
begin(const char *ca_file)
{
	static const struct aws_client_config config;
	char endpoint[64];

	snprintf(endpoint, sizeof(endpoint), "https://127.0.0.1:%u",
	    f.stub.port);
	f.client = open_client(f.base, &config, endpoint, NULL, ca_file);
}

static void
on_answer(void *arg, const struct aws_answer *a)
{
	(void)arg;
	f.status = a->status;
	snprintf(f.text, sizeof(f.text), "%s", a->text);
	f.answered = true;
	if (a->status == 0)
		ck_assert_int_eq(a->code, DDBLOCK_E_UNREACHABLE);
	/* Before there is TLS nothing is said. */
	ck_assert(a->status != 0 || !a->maybe_applied);
}

static int
call(enum aws_lane lane)
{
	struct aws_call *c;

	f.answered = false;
	ck_assert_int_eq(aws_client_call(f.client, lane, 0, "Echo", "{}", 2,
	    TIMEOUT_MS, on_answer, NULL, &c), 0);
	while (!f.answered)
		event_base_loop(f.base, EVLOOP_ONCE);
	return f.status;
}

static void
expect_refusal(const char *advice)
{
	ck_assert_int_eq(call(AWS_LANE_LOCK), 0);
	ck_assert_msg(strstr(f.text, advice) != NULL, "%s", f.text);
	ck_assert_uint_eq(f.stub.requests, 0);
}

/* ---- tests ---- */

/* For all lanes: it is one client. */
static void
expect_resumption(void)
{
	begin(f.ca_file);
	ck_assert_int_eq(call(AWS_LANE_SESSION), 200);
	ck_assert_uint_eq(f.stub.connections, 1);
	ck_assert_uint_eq(count_resumed(), 0);
	ck_assert_int_eq(call(AWS_LANE_LOCK), 200);
	ck_assert_int_eq(call(AWS_LANE_BULK), 200);
	ck_assert_uint_eq(f.stub.connections, 3);
	ck_assert_uint_eq(count_resumed(), 2);
	ck_assert_int_eq(call(AWS_LANE_SESSION), 200);
	ck_assert_uint_eq(f.stub.connections, 3);
}

TEST_FIXTURE(setup, teardown)

TEST(test_sessions_are_resumed)
{
	expect_resumption();
}

TEST(test_sessions_are_resumed_with_1_2)
{
	ck_assert(SSL_CTX_set_max_proto_version(f.server, TLS1_2_VERSION));
	expect_resumption();
}

TEST(test_not_below_1_2)
{
	ck_assert(SSL_CTX_set_min_proto_version(f.server, TLS1_VERSION));
	ck_assert(SSL_CTX_set_max_proto_version(f.server, TLS1_1_VERSION));
	begin(f.ca_file);
	expect_refusal("there is no TLS with the endpoint (1.2 at the least)");
}

TEST(test_expired)
{
	set_certificate(HERE, -2 * DAY_S, -DAY_S);
	begin(f.ca_file);
	expect_refusal("the endpoint's certificate has expired, or this "
	    "host's clock is ahead: ");
}

TEST(test_not_yet_valid)
{
	set_certificate(HERE, DAY_S, 2 * DAY_S);
	begin(f.ca_file);
	expect_refusal("the endpoint's certificate is not valid yet: is this "
	    "host's clock right?");
}

TEST(test_of_another_host)
{
	set_certificate("DNS:elsewhere.example,IP:127.0.0.2", -DAY_S, DAY_S);
	begin(f.ca_file);
	expect_refusal("the endpoint's certificate is for another host");
}

TEST(test_unknown_issuer)
{
	begin(NULL);
	expect_refusal("the endpoint's certificate is from an unknown issuer: "
	    "if it is your own, or a proxy's, name it in ca_file: ");
}

/* The same name, another key. */
TEST(test_not_the_issuer_in_ca_file)
{
	EVP_PKEY *other = EVP_EC_gen("P-256");
	X509 *x;

	ck_assert_ptr_nonnull(other);
	EVP_PKEY_free(key);
	key = other;
	x = make_certificate(HERE, -DAY_S, DAY_S);
	ck_assert(SSL_CTX_use_certificate(f.server, x));
	ck_assert(SSL_CTX_use_PrivateKey(f.server, key));
	X509_free(x);
	begin(f.ca_file);
	expect_refusal("the endpoint's certificate is not");
}

TEST(test_no_ca_file)
{
	begin("no/such/file.pem");
	expect_refusal("ca_file cannot be used: ");
}

TEST(test_no_tls_at_all)
{
	f.stub.speak = NULL;
	f.stub.early = 1;
	begin(f.ca_file);
	ck_assert_int_eq(call(AWS_LANE_LOCK), 0);
	ck_assert_uint_eq(f.stub.requests, 0);
}
