/*
 * Unit tests of src/aws/credentials.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/credentials.h"
#include "common/error.h"
#include "test.h"

TEST(test_set)
{
	struct credentials c = { .expires_ms = 0 };
	char text[128] = "";

	ck_assert(!credentials_exist(&c));
	ck_assert_int_eq(credentials_set(&c, "AKID", "secret", "token", text,
	    sizeof(text)), 0);
	ck_assert(credentials_exist(&c));
	ck_assert_str_eq(c.access_key_id, "AKID");
	ck_assert_str_eq(c.secret_access_key, "secret");
	ck_assert_str_eq(c.session_token, "token");
	ck_assert_ptr_null(c.account_id);
	/* Others take the place of all, the token included. */
	ck_assert_int_eq(credentials_set(&c, "AKID2", "other", "", text,
	    sizeof(text)), 0);
	ck_assert_str_eq(c.access_key_id, "AKID2");
	ck_assert_ptr_null(c.session_token);
	credentials_done(&c);
	ck_assert(!credentials_exist(&c));
}

/*
 * A value that would end a header, or is invalid in one, is refused, and the
 * old value stays.
 */
TEST(test_refused)
{
	static const char *const rows[][4] = {
		{ NULL, "secret", NULL, "there is no access key id" },
		{ "", "secret", NULL, "there is no access key id" },
		{ "AKID", NULL, NULL, "there is no secret access key" },
		{ "AK ID", "secret", NULL, "the access key id has" },
		{ "AKID", "sec\nret", NULL, "the secret access key has" },
		{ "AKID", "secret", "tok\r\nen", "the session token has" },
		{ "AKID", "s\x80", NULL, "the secret access key has" },
	};
	struct credentials c = { .expires_ms = 0 };
	char text[128];

	ck_assert_int_eq(credentials_set(&c, "OLD", "old", NULL, text,
	    sizeof(text)), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_int_eq(credentials_set(&c, rows[i][0], rows[i][1],
		    rows[i][2], text, sizeof(text)),
		    DDBLOCK_E_NO_CREDENTIALS);
		ck_assert_msg(strncmp(text, rows[i][3],
		    strlen(rows[i][3])) == 0, "%zu: %s", i, text);
		ck_assert_str_eq(c.access_key_id, "OLD");
	}
	credentials_done(&c);
}

TEST(test_too_long)
{
	struct credentials c = { .expires_ms = 0 };
	char *token = malloc(CREDENTIALS_TEXT_MAX + 2);
	char text[128];

	ck_assert_ptr_nonnull(token);
	memset(token, 'x', CREDENTIALS_TEXT_MAX + 1);
	token[CREDENTIALS_TEXT_MAX + 1] = '\0';
	ck_assert_int_eq(credentials_set(&c, "AKID", "secret", token, text,
	    sizeof(text)), DDBLOCK_E_NO_CREDENTIALS);
	token[CREDENTIALS_TEXT_MAX] = '\0';
	ck_assert_int_eq(credentials_set(&c, "AKID", "secret", token, text,
	    sizeof(text)), 0);
	credentials_done(&c);
	free(token);
}

TEST(test_account)
{
	struct credentials c = { .expires_ms = 0 };

	ck_assert_int_eq(credentials_set_account(&c, "123456789012"), 0);
	ck_assert_str_eq(c.account_id, "123456789012");
	ck_assert_int_eq(credentials_set_account(&c, "12345678901a"), 0);
	ck_assert_ptr_null(c.account_id);
	ck_assert_int_eq(credentials_set_account(&c, "1234567890123"), 0);
	ck_assert_ptr_null(c.account_id);
	credentials_done(&c);
}

TEST(test_copy_and_equal)
{
	struct credentials a = { .expires_ms = 0 }, b = { .expires_ms = 0 };
	char text[128];

	ck_assert(credentials_equal(&a, &b));
	ck_assert_int_eq(credentials_set(&a, "AKID", "secret", "token", text,
	    sizeof(text)), 0);
	ck_assert_int_eq(credentials_set_account(&a, "123456789012"), 0);
	a.expires_ms = 17;
	ck_assert(!credentials_equal(&a, &b));
	ck_assert_int_eq(credentials_copy(&b, &a), 0);
	ck_assert(credentials_equal(&a, &b));
	ck_assert_uint_eq(b.expires_ms, 17);
	b.expires_ms = 18;
	ck_assert(credentials_equal(&a, &b));
	ck_assert_int_eq(credentials_set(&b, "AKID", "secret", NULL, text,
	    sizeof(text)), 0);
	ck_assert(!credentials_equal(&a, &b));
	credentials_done(&a);
	credentials_done(&b);
}

/* An error that recites the request does not recite its token. */
TEST(test_mask)
{
	struct credentials c = { .access_key_id = NULL };
	char why[128];
	static const struct {
		const char *text, *masked;
	} rows[] = {
		{ "a/longPiece+of==it", "******************" },
		{ "x a/longPiece+of==it a/longPiece+of==it.",
		    "x ****************** ******************." },
		{ "a%2FlongPiece%2Bof%3D%3Dit", "a%2F*********%2Bof%3D%3Dit" },
		{ "a\\/longPiece+of==", "a\\/*********+of==" },
		{ "longPiec", "longPiec" },
		{ "Sec/retRetRetRet", "****************" },
		{ "the AKIA of it", "the AKIA of it" },
		{ "", "" },
	};

	ck_assert_int_eq(credentials_set(&c, "AKIA", "Sec/retRetRetRet",
	    "a/longPiece+of==it", why, sizeof(why)), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "%s", rows[i].text);
		credentials_mask(&c, text, strlen(text));
		ck_assert_str_eq(text, rows[i].masked);
	}
	credentials_mask(&c, NULL, 0);
	credentials_done(&c);
}

/* A short piece beside what no URL quotes. */
TEST(test_mask_beside_a_hyphen)
{
	char text[] = "it is AQAEpieceOfIt_more-u1STF%3D%3D.";

	credentials_mask_secret("AQAEpieceOfIt_more-u1STF==", text,
	    strlen(text));
	ck_assert_str_eq(text, "it is ************************%3D%3D.");
}

/* The credentials for emulators are a word, which may occur in an error. */
TEST(test_mask_leaves_words)
{
	struct credentials c = { .access_key_id = NULL };
	char text[] = "ResourceNotFoundException: it has no message";
	char why[128];

	ck_assert_int_eq(credentials_set(&c, "a", "s", "message", why,
	    sizeof(why)), 0);
	credentials_mask(&c, text, strlen(text));
	ck_assert_str_eq(text, "ResourceNotFoundException: it has no message");
	credentials_done(&c);
}
