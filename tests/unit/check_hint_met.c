/*
 * Who was met: one contact for each session, those of a namespace, and the
 * oldest that give way.
 */
#include <string.h>

#include "hints/hint_met.h"
#include "test.h"

static struct hint_met met;

static struct hint_id
session(uint8_t number)
{
	return (struct hint_id){ .bytes = { number } };
}

static void
remember(uint32_t namespace_index, uint8_t number, const char *contact)
{
	const struct hint_id id = session(number);

	hint_met_remember(&met, namespace_index, &id, contact);
}

/* How many of them there are; the last one's is *@contact. */
static uint32_t
all_of(uint32_t namespace_index, const char **contact)
{
	const struct hint_met_host *host;
	uint32_t at = 0, n = 0;

	while ((host = hint_met_next(&met, namespace_index, &at)) != NULL) {
		*contact = host->contact;
		n++;
	}
	return n;
}

TEST(test_latest)
{
	const char *contact = NULL;

	memset(&met, 0, sizeof(met));
	ck_assert_uint_eq(all_of(0, &contact), 0);
	remember(0, 1, "old");
	remember(1, 2, "another");
	remember(0, 1, "new");
	ck_assert_uint_eq(all_of(0, &contact), 1);
	ck_assert_str_eq(contact, "new");
	ck_assert_uint_eq(all_of(1, &contact), 1);
	ck_assert_str_eq(contact, "another");
}

TEST(test_forgotten)
{
	char long_text[HINT_CONTACT_MAX + 1];
	const char *contact = NULL;

	memset(&met, 0, sizeof(met));
	memset(long_text, 'x', HINT_CONTACT_MAX);
	long_text[HINT_CONTACT_MAX] = '\0';
	remember(0, 1, NULL);
	remember(0, 1, long_text);
	ck_assert_uint_eq(all_of(0, &contact), 0);
	remember(0, 1, "here");
	remember(0, 1, NULL);
	ck_assert_uint_eq(all_of(0, &contact), 0);
	remember(0, 1, "here");
	remember(0, 1, long_text);
	ck_assert_uint_eq(all_of(0, &contact), 0);
}

TEST(test_oldest_gives_way)
{
	const char *contact = NULL;

	memset(&met, 0, sizeof(met));
	remember(1, 255, "oldest");
	for (int i = 0; i < HINT_MET_MAX; i++) {
		const struct hint_id id = { .bytes = { (uint8_t)i, 1 } };

		hint_met_remember(&met, 0, &id, "here");
		ck_assert_uint_eq(all_of(1, &contact), i == HINT_MET_MAX - 1 ?
		    0 : 1);
	}
	ck_assert_uint_eq(all_of(0, &contact), HINT_MET_MAX);
}
