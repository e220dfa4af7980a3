/*
 * May everybody change a file, or read it? For files with secrets, or with what
 * decides whose credentials are used. A group is not looked at: it was
 * chosen by somebody.
 */
#ifndef DDBLOCKD_COMMON_FILE_TRUST_H
#define DDBLOCKD_COMMON_FILE_TRUST_H

enum file_trust {
	FILE_TRUST_PRIVATE = 0,
	FILE_TRUST_READABLE,	/* everybody can read it */
	FILE_TRUST_SHOWN,	/* the same, on a file system that is mounted
				 * read-only: its modes are not ours to set,
				 * and nobody can write it */
	FILE_TRUST_WRITABLE,	/* everybody can write it */
	FILE_TRUST_REPLACEABLE,	/* everybody can put another in its place */
};

/*
 * Of the open file @fd, which was found by @path. What is no regular file (a
 * pipe, for example) is private: it is what its maker put into it.
 */
enum file_trust file_trust(int fd, const char *path);

/* What is wrong and what to do; NULL: others cannot change it. */
const char *file_trust_advice(enum file_trust);

#endif
