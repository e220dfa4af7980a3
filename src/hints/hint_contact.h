/*
 * The contact of a session, a text in its item: "192.0.2.1:7400 5f3a...", where
 * its host hears hints, and its public key in hexadecimal digits. Anybody who
 * can write to the table may have written it.
 */
#ifndef DDBLOCKD_HINTS_HINT_CONTACT_H
#define DDBLOCKD_HINTS_HINT_CONTACT_H

#include "hints/hint_address.h"
#include "hints/hint_keys.h"

/* With a NUL. */
#define HINT_CONTACT_MAX (HINT_ADDRESS_TEXT_MAX + 1 + 2 * HINT_KEY_BYTES)

void hint_contact_format(const struct hint_address *,
    const uint8_t key[HINT_KEY_BYTES], char text[HINT_CONTACT_MAX]);

/* False: it has another form. @ret and @ret_key may be written all the same. */
bool hint_contact_parse(const char *text, struct hint_address *ret,
    uint8_t ret_key[HINT_KEY_BYTES]);

#endif
