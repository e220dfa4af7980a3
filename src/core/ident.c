/*
 * Names of 128 bits: their text form, and those that follow from a text.
 */
#include "core/ident.h"

bool
ident_is_among(const struct ident *all, size_t n, struct ident i)
{
	while (n > 0 && !ident_equal(all[n - 1], i))
		n--;
	return n > 0;
}

struct ident
ident_renewable(struct ident i)
{
	return (struct ident){
		.high = (i.high & ~UINT64_C(0xf000)) | 0x4000,
		.low = ((i.low & (UINT64_MAX >> 2)) | UINT64_C(1) << 63) &
		    ~(uint64_t)IDENT_RENEWALS_MAX,
	};
}

static void
ident_format_half(uint64_t half, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 15; i >= 0; i--) {
		text[i] = digits[half & 15];
		half >>= 4;
	}
}

void
ident_format(struct ident i, char text[IDENT_TEXT_LENGTH + 1])
{
	ident_format_half(i.high, text);
	ident_format_half(i.low, text + 16);
	text[IDENT_TEXT_LENGTH] = '\0';
}

static bool
ident_parse_half(const char *text, uint64_t *ret)
{
	uint64_t half = 0;

	for (int i = 0; i < 16; i++) {
		char c = text[i];

		if (c >= '0' && c <= '9')
			half = half << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			half = half << 4 | (uint64_t)(c - 'a' + 10);
		else
			return false;
	}
	*ret = half;
	return true;
}

bool
ident_parse(const char *text, size_t length, struct ident *ret)
{
	struct ident i;

	if (length != IDENT_TEXT_LENGTH || !ident_parse_half(text, &i.high) ||
	    !ident_parse_half(text + 16, &i.low))
		return false;
	*ret = i;
	return true;
}

/* FNV-1a, and a last stir so that the halves have little in common. */
static uint64_t
ident_hash_half(const char *text, size_t length, uint64_t h)
{
	for (size_t i = 0; i < length; i++) {
		h ^= (unsigned char)text[i];
		h *= UINT64_C(0x100000001b3);
	}
	h ^= h >> 30;
	h *= UINT64_C(0xbf58476d1ce4e5b9);
	h ^= h >> 27;
	h *= UINT64_C(0x94d049bb133111eb);
	return h ^ h >> 31;
}

struct ident
ident_hash(const char *text, size_t length)
{
	struct ident i = {
		.high = ident_hash_half(text, length,
		    UINT64_C(0xcbf29ce484222325)),
		.low = ident_hash_half(text, length,
		    UINT64_C(0x6c62272e07bb0142)),
	};

	if (ident_is_none(i))
		i.low = 1;
	return i;
}
