/*
 * Sessions of TLS, and why there are none.
 *
 * A handshake costs two round trips and a check of signatures, a resumed one
 * half of it. libcurl keeps sessions with each handle, of which a client has
 * many; shared, the first connection serves all that come after.
 */
#include "aws/tls.h"

#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"

int
tls_init(struct tls *t)
{
	t->sessions = curl_share_init();
	if (t->sessions == NULL)
		return DDBLOCK_E_NOMEM;
	/* All from one loop: no locks. */
	if (curl_share_setopt(t->sessions, CURLSHOPT_SHARE,
	    CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK)
		return 0;
	tls_done(t);
	return DDBLOCK_E_NOMEM;
}

void
tls_done(struct tls *t)
{
	if (t->sessions != NULL)
		(void)curl_share_cleanup(t->sessions);
	t->sessions = NULL;
}

int
tls_share(const struct tls *t, CURL *easy)
{
	return curl_easy_setopt(easy, CURLOPT_SHARE, t->sessions) ==
	    CURLE_OK ? 0 : DDBLOCK_E_NOMEM;
}

/* What to do about a certificate that OpenSSL did not accept. */
static const char *
tls_advice(long verify, const char *ca_file)
{
	switch (verify) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return "the endpoint's certificate has expired, or this "
		    "host's clock is ahead";
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "the endpoint's certificate is not valid yet: is this "
		    "host's clock right?";
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
		return ca_file != NULL ?
		    "the endpoint's certificate is not from any issuer in "
		    "ca_file" :
		    "the endpoint's certificate is from an unknown issuer: if "
		    "it is your own, or a proxy's, name it in ca_file";
	case X509_V_ERR_CERT_REVOKED:
		return "the endpoint's certificate has been revoked";
	default:
		return "the endpoint's certificate is not good";
	}
}

/* libcurl checks the name itself: it leaves no verdict of OpenSSL's. */
static bool
tls_is_other_name(const char *detail)
{
	return strstr(detail, "subject name") != NULL ||
	    strstr(detail, "common name") != NULL;
}

bool
tls_reason(CURL *easy, CURLcode result, const char *detail,
    const char *ca_file, char *text, size_t text_size)
{
	const char *what;
	long verify = 0;

	switch (result) {
	case CURLE_PEER_FAILED_VERIFICATION:
		(void)curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT,
		    &verify);
		what = tls_is_other_name(detail) ? "the endpoint's "
		    "certificate is for another host: is the endpoint right, "
		    "or does a proxy stand in between?" :
		    tls_advice(verify, ca_file);
		break;
	case CURLE_SSL_CACERT_BADFILE:
		what = ca_file != NULL ? "ca_file cannot be used" :
		    "the system's certificates cannot be used";
		break;
	case CURLE_SSL_CONNECT_ERROR:
		what = "there is no TLS with the endpoint (1.2 at the least)";
		break;
	default:
		return false;
	}
	(void)snprintf(text, text_size, "%s: %s", what, detail[0] != '\0' ?
	    detail : curl_easy_strerror(result));
	return true;
}
