/*
 * What all our curl handles have in common.
 */
#include "aws/curl_setup.h"

#include "common/error.h"
#include "config.h"

CURL *
curl_setup_new(uint64_t connect_timeout_ms)
{
	CURL *e = curl_easy_init();

	if (e == NULL)
		return NULL;
	(void)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(e, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(e, CURLOPT_NOPROXY, "*");
	(void)curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
	    (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(e, CURLOPT_TCP_NODELAY, 1L);
	(void)curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
	(void)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
	    (long)connect_timeout_ms);
	if (curl_easy_setopt(e, CURLOPT_USERAGENT,
	    PACKAGE_NAME "/" PACKAGE_VERSION) != CURLE_OK ||
	    curl_easy_setopt(e, CURLOPT_SSLVERSION,
	    (long)CURL_SSLVERSION_TLSv1_2) != CURLE_OK) {
		curl_easy_cleanup(e);
		return NULL;
	}
	return e;
}

/*
 * With a folder of certificates beside the bundle, as Debian has it, libcurl
 * parses all of them for each connection (55 ms, on the loop); with the bundle
 * alone it keeps what it has parsed.
 */
static int
curl_setup_certificates(CURL *e, const char *ca_file)
{
	const char *standard = curl_version_info(CURLVERSION_NOW)->cainfo;
	const char *file = ca_file != NULL ? ca_file : standard;

	if (file == NULL)
		return 0;
	(void)curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	return curl_easy_setopt(e, CURLOPT_CAINFO, file) == CURLE_OK ?
	    0 : DDBLOCK_E_NOMEM;
}

int
curl_setup_url(CURL *e, const char *url, bool tls, const char *ca_file)
{
	if (curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR,
	    tls ? "https" : "http") != CURLE_OK ||
	    curl_easy_setopt(e, CURLOPT_URL, url) != CURLE_OK)
		return DDBLOCK_E_NOMEM;
	return curl_setup_certificates(e, ca_file);
}
