/*
 * Memory of libraries that secrets went through.
 */
#include <config.h>

#include "aws/scrub.h"

#include <curl/curl.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define SCRUB_GROWN_BYTES 1024

static void
scrub_free(void *memory)
{
	if (memory != NULL)
		explicit_bzero(memory, malloc_usable_size(memory));
	free(memory);
}

/*
 * Never smaller: what is beyond may be a secret as well. What grows once grows
 * again, such as the head of a request: it is given room, so that it is not
 * copied and overwritten with each doubling.
 */
static void *
scrub_realloc(void *memory, size_t size)
{
	size_t before = memory != NULL ? malloc_usable_size(memory) : 0;
	void *larger;

	if (memory != NULL && size <= before)
		return memory;
	larger = malloc(memory != NULL && size < SCRUB_GROWN_BYTES ?
	    SCRUB_GROWN_BYTES : size);
	if (larger == NULL)
		return NULL;
	if (memory != NULL)
		memcpy(larger, memory, before);
	scrub_free(memory);
	return larger;
}

static void *
scrub_crypto_malloc(size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return size > 0 ? malloc(size) : NULL;
}

static void *
scrub_crypto_realloc(void *memory, size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	if (size > 0)
		return scrub_realloc(memory, size);
	scrub_free(memory);
	return NULL;
}

static void
scrub_crypto_free(void *memory, const char *file, int line)
{
	(void)file;
	(void)line;
	scrub_free(memory);
}

void
scrub_libcrypto(void)
{
	(void)CRYPTO_set_mem_functions(scrub_crypto_malloc,
	    scrub_crypto_realloc, scrub_crypto_free);
}

int
scrub_libcurl(void)
{
	return curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, scrub_free,
	    scrub_realloc, strdup, calloc) == CURLE_OK ? 0 : DDBLOCK_E_SYSTEM;
}

void
scrub_libcurl_done(void)
{
	curl_global_cleanup();
}
