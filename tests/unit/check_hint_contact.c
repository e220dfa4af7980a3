/*
 * The contact of a session: what is written is read again, and nothing else is.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "hint_fixture.h"
#include "hints/hint_contact.h"

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1dfeff"

static const struct {
	const char *text;
	bool good;
} contacts[] = {
	{ "192.0.2.1:7400 " KEY, true },
	{ "[2001:db8::1]:65535 " KEY, true },
	{ "", false },
	{ " ", false },
	{ KEY, false },
	{ "192.0.2.1:7400", false },
	{ "192.0.2.1:7400 ", false },
	{ "192.0.2.1:7400  " KEY, false },
	{ "192.0.2.1:7400 " KEY " ", false },
	{ "192.0.2.1:7400 " KEY "00", false },
	{ "192.0.2.1:7400 0" KEY, false },
	{ " 192.0.2.1:7400 " KEY, false },
	{ "web-1:7400 " KEY, false },
	{ "192.0.2.1:07400 " KEY, false },
	{ "192.0.2.1:7400 "
	    "000102030405060708090A0b0c0d0e0f101112131415161718191a1b1c1dfeff",
	    false },
	{ "192.0.2.1:7400 "
	    "g00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1dfeff",
	    false },
	{ "192.0.2.1:7400 "
	    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1dfef",
	    false },
	{ "192.0.2.1:7400 "
	    "\xff" "00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1"
	    "dfef",
	    false },
};

TEST_ROWS(test_contact, contacts)
{
	const char *text = contacts[_i].text;
	char again[HINT_CONTACT_MAX];
	uint8_t key[HINT_KEY_BYTES];
	struct hint_address address;

	ck_assert_int_eq(hint_contact_parse(text, &address, key),
	    contacts[_i].good);
	if (!contacts[_i].good)
		return;
	ck_assert_uint_eq(key[1], 1);
	ck_assert_uint_eq(key[31], 0xff);
	hint_contact_format(&address, key, again);
	ck_assert_str_eq(again, text);
}

/* The longest address that there is. */
TEST(test_longest)
{
	const char *text = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535";
	uint8_t key[HINT_KEY_BYTES] = { 0 }, got[HINT_KEY_BYTES];
	char contact[HINT_CONTACT_MAX];
	struct hint_address address;

	ck_assert(hint_address_parse(text, strlen(text), &address));
	hint_contact_format(&address, key, contact);
	ck_assert_uint_eq(strlen(contact), HINT_CONTACT_MAX - 1);
	ck_assert(hint_contact_parse(contact, &address, got));
}
