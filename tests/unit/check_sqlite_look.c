/*
 * What a look at the embedded store's file and disk means.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/finding.h"
#include "ddblock.h"
#include "store/sqlite_check.h"
#include "test.h"

#define OWN_UID 1000
#define FOUND_MAX 8

static struct finding found[FOUND_MAX];
static size_t n_found;

static void
on_finding(void *arg, const struct finding *f)
{
	(void)arg;
	ck_assert_uint_lt(n_found, FOUND_MAX);
	found[n_found++] = *f;
}

static struct sqlite_facts
good(void)
{
	return (struct sqlite_facts){
		.file_bytes = 8192, .file_mode = 0600, .file_uid = OWN_UID,
		.disk_bytes = UINT64_C(100) << 30,
		.disk_free_bytes = UINT64_C(10) << 30,
		.disk_counts_files = true, .disk_free_files = 1000000,
	};
}

static void
tell(const struct sqlite_facts *facts, int code)
{
	n_found = 0;
	sqlite_check_tell("/x/a.db", facts, OWN_UID, code, "said so",
	    on_finding, NULL);
}

static void
expect(size_t i, const char *check, enum finding_state state,
    const char *text, const char *advice)
{
	ck_assert_uint_lt(i, n_found);
	ck_assert_str_eq(found[i].check, check);
	ck_assert_msg(found[i].state == state, "%s", found[i].text);
	ck_assert_msg(strstr(found[i].text, text) != NULL, "%s",
	    found[i].text);
	ck_assert_msg(strstr(found[i].advice, advice) != NULL, "%s",
	    found[i].advice);
	ck_assert_int_eq(advice[0] == '\0', found[i].advice[0] == '\0');
}

TEST(test_well)
{
	struct sqlite_facts facts = good();

	tell(&facts, 0);
	ck_assert_uint_eq(n_found, 4);
	expect(0, "configuration", FINDING_OK, "this host only", "");
	expect(1, "file", FINDING_OK, "/x/a.db: 8192 bytes, mode 0600, of "
	    "uid 1000", "");
	expect(2, "disk", FINDING_OK, "10240 MB free of 102400", "");
	expect(3, "integrity", FINDING_OK, "said so", "");
	tell(&facts, DDBLOCK_E_STORE_BROKEN);
	expect(3, "integrity", FINDING_ERROR, "said so", "");
}

TEST(test_file)
{
	struct sqlite_facts facts = good();

	facts.file_mode = 0620;
	tell(&facts, 0);
	expect(1, "file", FINDING_WARNING, "0620", "0600");
	facts = good();
	facts.file_uid = 0;
	tell(&facts, 0);
	expect(1, "file", FINDING_WARNING, "uid 0", "uid 1000");
	facts.file_error = ENOENT;
	tell(&facts, 0);
	ck_assert_uint_eq(n_found, 3);
	expect(1, "file", FINDING_ERROR, strerror(ENOENT), "find out why");
}

TEST(test_disk)
{
	struct sqlite_facts facts = good();

	facts.disk_free_bytes = UINT64_C(100) << 20;
	tell(&facts, 0);
	expect(2, "disk", FINDING_WARNING, "100 MB free", "make room");
	facts.disk_free_bytes = 4096;
	tell(&facts, 0);
	expect(2, "disk", FINDING_ERROR, "0 MB free", "make room");
	facts = good();
	facts.disk_free_files = 7;
	tell(&facts, 0);
	expect(2, "disk", FINDING_WARNING, "", "make room");
	facts.disk_free_files = 0;
	tell(&facts, 0);
	expect(2, "disk", FINDING_ERROR, "", "make room");
	/* Some file systems have no such number. */
	facts.disk_counts_files = false;
	tell(&facts, 0);
	expect(2, "disk", FINDING_OK, "", "");
	facts.disk_read_only = true;
	tell(&facts, 0);
	expect(2, "disk", FINDING_ERROR, "read-only", "mount it writable");
	facts.disk_error = EIO;
	tell(&facts, 0);
	expect(2, "disk", FINDING_WARNING, strerror(EIO), "");
}

TEST(test_look)
{
	char path[] = "/tmp/check_sqlite_look.XXXXXX";
	int fd = mkstemp(path);
	struct sqlite_facts facts;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "123", 3), 3);
	ck_assert_int_eq(fchmod(fd, 0640), 0);
	(void)close(fd);
	sqlite_check_look(path, &facts);
	ck_assert_int_eq(facts.file_error, 0);
	ck_assert_uint_eq(facts.file_bytes, 3);
	ck_assert_uint_eq(facts.file_mode, 0640);
	ck_assert_uint_eq(facts.file_uid, geteuid());
	ck_assert_int_eq(facts.disk_error, 0);
	ck_assert_uint_gt(facts.disk_bytes, 0);
	ck_assert_int_eq(unlink(path), 0);
	sqlite_check_look(path, &facts);
	ck_assert_int_eq(facts.file_error, ENOENT);
	ck_assert_int_eq(facts.disk_error, ENOENT);
}
