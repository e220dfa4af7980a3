/*
 * What a program that prints credentials sees of our environment.
 */
#ifndef DDBLOCKD_IDENTITY_PROVIDER_ENVIRONMENT_H
#define DDBLOCKD_IDENTITY_PROVIDER_ENVIRONMENT_H

/*
 * Those of the variables @from (as environ) that such a program is given:
 * where programs, files and words are, proxies and certificates, and all of
 * AWS. To be freed; its texts are borrowed. NULL: no memory.
 */
char **provider_environment_new(char *const *from);

#endif
