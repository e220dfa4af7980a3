/*
 * Sources of credentials, and what the services, files and programs that they
 * ask may answer. What is taken for credentials can be sent in a header; a
 * refusal can be shown, and recites no secret.
 *
 * The first letter of the input chooses the source. Each line is an answer, a
 * letter for its status and the body.
 */
#include "fuzz.h"

#include "common/utf8.h"
#include "ddblock.h"
#include "identity/source.h"

#define ANSWERS_MAX 24
#define SECRET "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"

static const struct {
	char letter;
	int code;
	int status;
} answers[] = {
	{ '2', 0, 200 }, { '4', 0, 400 }, { '1', 0, 401 }, { '3', 0, 403 },
	{ 'n', 0, 404 }, { '5', 0, 500 }, { '0', 0, 0 }, { 'x', 0, 1 },
	{ 'u', DDBLOCK_E_UNREACHABLE, 0 }, { 'l', DDBLOCK_E_LIMIT, 0 },
	{ 't', DDBLOCK_E_ACQUIRE_TIMEOUT, 0 }, { 's', DDBLOCK_E_SYSTEM, 0 },
};

static char command[] = "helper --json";
static char account[] = "123456789012";
static char role_arn[] = "arn:aws:iam::123456789012:role/r";
static char token_file[] = "/token";
static char url[] = "http://169.254.170.2/v2/x";
static char token[] = "token-of-the-container";
static char start_url[] = "https://x.awsapps.com/start";
static char region[] = "eu-west-1";
static char session[] = "corp";
static char key_id[] = "AKIDEXAMPLE";
static char secret[] = SECRET;

static const struct source_methods *
asked_source(unsigned letter)
{
	switch (letter % 8) {
	case 0:
		return source_of(CHAIN_IMDS);
	case 1:
		return source_of(CHAIN_CONTAINER);
	case 2:
		return source_of(CHAIN_SSO);
	case 3:
		return source_of(CHAIN_PROCESS);
	case 4:
		return source_of(CHAIN_WEB_IDENTITY);
	case 5:
		return &source_assume_role;
	case 6:
		return &source_imds_region;
	default:
		return source_of(CHAIN_SETTINGS);
	}
}

static enum source_verdict
asked_answer(struct source *s, struct fuzz_input line)
{
	const char letter = (char)fuzz_byte(&line);
	struct errand_answer a = { .text = "said so", .status = 200 };
	char *body = fuzz_copy(line.at, line.length);
	enum source_verdict verdict;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		if (answers[i].letter == letter) {
			a.status = answers[i].status;
			a.code = answers[i].code;
		}
	}
	a.body = a.code == 0 ? body : "";
	a.body_length = a.code == 0 ? line.length : 0;
	verdict = s->methods->answer(s, &a);
	free(body);
	return verdict;
}

static void
asked_check_header(const char *text)
{
	FUZZ_CHECK(text == NULL || strlen(text) <= CREDENTIALS_TEXT_MAX);
	for (; text != NULL && *text != '\0'; text++)
		FUZZ_CHECK(*text > ' ' && *text <= '~');
}

static void
asked_check_errand(const struct errand *e)
{
	FUZZ_CHECK(e->kind != ERRAND_NONE);
	FUZZ_CHECK(e->n_headers <= ERRAND_HEADERS_MAX);
	FUZZ_CHECK(e->timeout_ms > 0);
	FUZZ_CHECK(e->answer_max > 0 || e->kind == ERRAND_WRITE);
	if (e->kind == ERRAND_FETCH)
		FUZZ_CHECK(e->url != NULL && e->method != NULL);
	for (size_t i = 0; i < e->n_headers; i++)
		FUZZ_CHECK(strpbrk(e->headers[i].value, "\r\n") == NULL);
}

static void
asked_check(const struct source *s, enum source_verdict verdict)
{
	if (verdict == SOURCE_FAILED) {
		FUZZ_CHECK(s->text[0] != '\0' && utf8_is_shown(s->text));
		FUZZ_CHECK(strstr(s->text, SECRET) == NULL);
	}
	if (verdict != SOURCE_DONE || s->methods == &source_imds_region)
		return;
	FUZZ_CHECK(credentials_exist(&s->credentials));
	asked_check_header(s->credentials.access_key_id);
	asked_check_header(s->credentials.session_token);
}

/* Two attempts: the second finds what the first remembers. */
static void
asked_try(struct source *s, struct fuzz_input *in)
{
	enum source_verdict verdict = s->methods->start(s);
	struct fuzz_input line;

	for (int i = 0; i < ANSWERS_MAX && verdict == SOURCE_WAIT &&
	    fuzz_line(in, &line); i++) {
		asked_check_errand(&s->errand);
		verdict = asked_answer(s, line);
	}
	asked_check(s, verdict);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct chain_source from = {
		.kind = CHAIN_IMDS, .command = command, .account_id = account,
		.token_file = token_file, .url = url, .token = token,
		.role = { .role_arn = role_arn }, .sso_session = session,
		.sso_start_url = start_url, .sso_region = region,
		.sso_role_name = session, .timeout_ms = 1000,
		.attempts_max = 2,
		.keys = { key_id, secret, NULL, NULL, 0 },
	};
	const struct credentials signer = { key_id, secret, NULL, NULL, 0 };
	struct fuzz_input in = fuzz_input(data, size), line;
	struct endpoint_params params = { .region = "eu-west-1" };
	const struct source_methods *methods;
	struct source_memory memory;
	struct source s;

	if (!fuzz_line(&in, &line))
		return 0;
	methods = asked_source(fuzz_byte(&line));
	source_memory_init(&memory);
	for (int i = 0; i < 2; i++) {
		source_init(&s, methods);
		s.from = &from;
		s.role = &from.role;
		s.signer = &signer;
		s.params = &params;
		s.home = "/home/USER";
		s.memory = &memory;
		s.wall_ms = UINT64_C(1800000000000) + (uint64_t)i * 600000;
		asked_try(&s, &in);
		source_done(&s);
	}
	source_memory_done(&memory);
	return 0;
}
