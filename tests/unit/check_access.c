/*
 * Rules of access: what they decide, compared with a second implementation that
 * goes through all worlds in which a rule that may be for a client is or is
 * not; and the unit of a process, from its cgroup.
 */
#include "ipc/access.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

#define RULES 5
#define CASES 4000

static uint64_t dice_state;

static unsigned
dice(unsigned sides)
{
	dice_state = dice_state * UINT64_C(6364136223846793005) + 1442695040;
	return (unsigned)(dice_state >> 33) % sides;
}

/* Texts of which a rule has some, and a client's. */
static const char *const prefixes[] = { "a", "ab", "db/", "db/x" };
static const char *const units[] = { "a.service", "b.service", "s.slice" };
static const char *const keys[] = { "", "a", "ab", "abc", "b", "db/", "db/x",
	"db/xy", "d" };
static const char *const places[] = { "a.service", "s.slice/b.service",
	"c.service", "", NULL };

/* A rule as it would be written. */
struct story {
	unsigned users, groups, units, prefixes;	/* bits of them */
	uint64_t namespaces;
	unsigned rights;
};

static struct story stories[RULES];
static struct access_rule rules[RULES];
static struct access access_rules = { rules, RULES };
static uid_t rule_users[RULES][3];
static gid_t rule_groups[RULES][3];
static const char *rule_units[RULES][3], *rule_prefixes[RULES][4];

static void
tell_rule(size_t i)
{
	struct story *s = &stories[i];
	struct access_rule *r = &rules[i];

	*s = (struct story){
		.users = dice(2) * dice(8),
		.groups = dice(2) * dice(8),
		.units = dice(2) * dice(8),
		.prefixes = dice(2) * dice(16),
		.namespaces = 1 + dice(7),
		.rights = dice(4) == 0 ? ACCESS_ALL : dice(ACCESS_ALL + 1),
	};
	*r = (struct access_rule){
		.name = "r", .users = rule_users[i], .groups = rule_groups[i],
		.units = rule_units[i], .prefixes = rule_prefixes[i],
		.namespaces = s->namespaces, .rights = s->rights,
	};
	for (unsigned k = 0; k < 4; k++) {
		if (k < 3 && (s->users >> k & 1) != 0)
			rule_users[i][r->n_users++] = 1000 + k;
		if (k < 3 && (s->groups >> k & 1) != 0)
			rule_groups[i][r->n_groups++] = 2000 + k;
		if (k < 3 && (s->units >> k & 1) != 0)
			rule_units[i][r->n_units++] = units[k];
		if ((s->prefixes >> k & 1) != 0)
			rule_prefixes[i][r->n_prefixes++] = prefixes[k];
	}
}

/* ---- the second implementation ---- */

/* Does @unit, as a path, have that component? */
static bool
naive_unit(const char *unit, const char *name)
{
	char whole[64], part[64];

	(void)snprintf(whole, sizeof(whole), "/%s/", unit);
	(void)snprintf(part, sizeof(part), "/%s/", name);
	return strstr(whole, part) != NULL;
}

/* 0: the rule is not for it; 1: it may be; 2: it is. */
static int
naive_who(const struct story *s, const struct access_client *c)
{
	unsigned groups = c->gid >= 2000 && c->gid < 2003 ?
	    1U << (c->gid - 2000) : 0;
	unsigned in = 0;

	for (size_t k = 0; k < c->n_groups; k++)
		groups |= 1U << (c->groups[k] - 2000);
	if (c->standing != 0 && (s->users | s->groups | s->units) == 0)
		return 0;
	if ((s->users != 0 && (s->users & 1U << (c->uid - 1000)) == 0) ||
	    (s->groups != 0 && (s->groups & groups) == 0))
		return 0;
	if (s->units == 0)
		return 2;
	if (c->unit == NULL)
		return 1;
	for (unsigned k = 0; k < 3; k++)
		in |= (unsigned)naive_unit(c->unit, units[k]) << k;
	return (in & s->units) != 0 ? 2 : 0;
}

static bool
naive_key(const struct story *s, const char *key)
{
	bool is = s->prefixes == 0;

	for (unsigned k = 0; k < 4 && key != NULL; k++)
		is = is || ((s->prefixes >> k & 1) != 0 &&
		    strncmp(key, prefixes[k], strlen(prefixes[k])) == 0);
	return is;
}

/* In the world in which of the rules that may be for it these are. */
static bool
naive_in(const struct access_client *c, unsigned world, uint32_t ns,
    const char *key, unsigned rights)
{
	for (unsigned i = 0; i < RULES; i++) {
		int who = naive_who(&stories[i], c);

		if ((who == 2 || (who == 1 && (world >> i & 1) != 0)) &&
		    (stories[i].namespaces & 1U << ns) != 0 &&
		    naive_key(&stories[i], key))
			return (stories[i].rights & rights) == rights;
	}
	return (c->standing & rights) == rights;
}

static bool
naive_allows(const struct access_client *c, uint32_t ns, const char *key,
    unsigned rights)
{
	bool allows = true;

	for (unsigned world = 0; world < 1U << RULES; world++)
		allows = allows && naive_in(c, world, ns, key, rights);
	return allows;
}

/* ---- the comparison ---- */

static struct access_client
some_client(gid_t others[2])
{
	static const unsigned standings[] = { 0, 0, ACCESS_ALL,
		ACCESS_ALL & ~(unsigned)ACCESS_BREAK };

	others[0] = 2000 + dice(3);
	others[1] = 2000 + dice(3);
	return (struct access_client){
		.uid = 1000 + dice(3), .gid = 2000 + dice(4),
		.groups = others, .n_groups = dice(3),
		.unit = places[dice(5)], .standing = standings[dice(4)],
	};
}

static void
compare(const struct access_client *c, const struct access_match *m)
{
	const struct access_rule *rule;

	for (uint32_t ns = 0; ns < 3; ns++) {
		unsigned rights = 1U << dice(7) | 1U << dice(7);
		bool all = true, some = false;

		for (int k = 0; k < ROWS(keys); k++) {
			struct key key = key_text(keys[k]);
			bool may = naive_allows(c, ns, keys[k], rights);

			ck_assert_int_eq(access_allows(&access_rules, m, ns,
			    &key, rights, &rule), may);
			/* What decides has the right, or has it not. */
			ck_assert(rule == NULL ||
			    ((rule->rights & rights) == rights) == may);
			all = all && may;
			some = some || may;
		}
		ck_assert_int_eq(access_allows(&access_rules, m, ns, NULL,
		    rights, &rule), naive_allows(c, ns, NULL, rights));
		/* These may err to one side. */
		if (access_allows_each(&access_rules, m, ns, rights))
			ck_assert(all);
		if (some)
			ck_assert(access_allows_some(&access_rules, m, ns,
			    key_text(""), rights, &rule));
	}
}

TEST(test_both_decide_the_same)
{
	struct access_match m;
	gid_t others[2];

	dice_state = 20261128;
	for (int n = 0; n < CASES; n++) {
		struct access_client c;

		for (size_t i = 0; i < RULES; i++)
			tell_rule(i);
		for (int k = 0; k < 5; k++) {
			c = some_client(others);
			access_match(&access_rules, &c, &m);
			compare(&c, &m);
		}
	}
}

/* No key that begins so may be touched: then the whole is refused at once, and
 * by which rule. */
TEST(test_some)
{
	static const char *db[] = { "db/" };
	struct access_rule two[] = {
		{ .name = "db", .namespaces = 1, .prefixes = db,
		    .n_prefixes = 1, .rights = ACCESS_LIST },
		{ .name = "rest", .namespaces = 1, .rights = ACCESS_SEE },
	};
	const struct access a = { two, 2 };
	const struct access_client c = { .uid = 7 };
	const struct access_rule *rule;
	struct access_match m;

	access_match(&a, &c, &m);
	ck_assert(access_allows_some(&a, &m, 0, key_text(""), ACCESS_LIST,
	    &rule));
	ck_assert(access_allows_some(&a, &m, 0, key_text("d"), ACCESS_LIST,
	    &rule));
	ck_assert(access_allows_some(&a, &m, 0, key_text("db/x"), ACCESS_LIST,
	    &rule));
	ck_assert(!access_allows_some(&a, &m, 0, key_text("e"), ACCESS_LIST,
	    &rule));
	ck_assert_ptr_eq(rule, &two[1]);
	ck_assert(!access_allows_some(&a, &m, 1, key_text(""), ACCESS_LIST,
	    &rule));
	ck_assert_ptr_null(rule);
	ck_assert(!access_allows_each(&a, &m, 0, ACCESS_LIST));
}

/* A lock with a sort value has the key that a rule speaks of. */
TEST(test_a_sort_value)
{
	static const char *whole[] = { "ab" };
	struct access_rule one = { .name = "a", .namespaces = 1,
		.prefixes = whole, .n_prefixes = 1,
		.rights = ACCESS_ALL };
	const struct access a = { &one, 1 };
	const struct access_client c = { .uid = 7 };
	const struct access_rule *rule;
	const struct key in = { "ab\0z", 4 }, out = { "a\0b", 3 };
	struct access_match m;

	access_match(&a, &c, &m);
	ck_assert(access_allows(&a, &m, 0, &in, ACCESS_TAKE, &rule));
	ck_assert(!access_allows(&a, &m, 0, &out, ACCESS_TAKE, &rule));
}

/* The most that the rules let a client's user have; by this rule, counted from
 * 1. 0: none. */
static void
expect_limit(const struct access *a, const struct access_client *c,
    enum access_limit which, uint64_t most, size_t by)
{
	const struct access_rule *rule;
	struct access_match m;

	access_match(a, c, &m);
	ck_assert_uint_eq(access_limit(a, &m, which, &rule), most);
	ck_assert_ptr_eq(rule, by == 0 ? NULL : &a->rules[by - 1]);
}

TEST_LOOP(test_limits, 0, ACCESS_LIMITS)
{
	const enum access_limit which = (enum access_limit)_i;
	const enum access_limit other =
	    (enum access_limit)((_i + 1) % ACCESS_LIMITS);
	uid_t user = 7;
	const char *unit = "a.service";
	struct access_rule three[] = {
		{ .users = &user, .n_users = 1 },
		{ .units = &unit, .n_units = 1 },
		{ .n_users = 0 },
	};
	const struct access a = { three, 3 };
	struct access_client c = { .uid = 7, .unit = "" };

	three[0].limits[which] = 3;
	three[1].limits[which] = 2;
	three[2].limits[which] = 9;
	three[2].limits[other] = 5;
	ck_assert(access_has_limit(&a, which));
	ck_assert(access_has_limit(&a, other));
	ck_assert(!access_has_limit(&a,
	    (enum access_limit)((_i + 2) % ACCESS_LIMITS)));
	expect_limit(&a, &c, which, 3, 1);
	/* The first rule that has the limit, not the first for the client. */
	expect_limit(&a, &c, other, 5, 3);
	c.uid = 8;
	expect_limit(&a, &c, which, 9, 3);
	c.unit = NULL;
	expect_limit(&a, &c, which, 2, 2);
	/* No rule names the administrator. */
	c = (struct access_client){ .uid = 8, .unit = "",
		.standing = ACCESS_ALL };
	expect_limit(&a, &c, which, 0, 0);
	c.uid = 7;
	expect_limit(&a, &c, which, 3, 1);
}

TEST(test_titles)
{
	const struct access_rule rule = { .name = "a", .file = "f", .line = 3 };
	const struct access_rule nowhere = { .name = "a" };
	char text[ACCESS_TITLE_MAX];

	access_title(&rule, text);
	ck_assert_str_eq(text, "rule \"a\" (line 3 of f)");
	access_title(&nowhere, text);
	ck_assert_str_eq(text, "rule \"a\"");
}

/* More rules than one word has bits. */
TEST(test_many_rules)
{
	static struct access_rule many[ACCESS_RULES_MAX];
	static uid_t users[ACCESS_RULES_MAX];
	const struct access a = { many, ACCESS_RULES_MAX };
	const struct access_rule *rule;
	struct access_match m;
	struct key key = key_text("k");

	for (size_t i = 0; i < ACCESS_RULES_MAX; i++) {
		users[i] = (uid_t)i;
		many[i] = (struct access_rule){ .users = &users[i],
			.n_users = 1, .namespaces = 1, .rights = i % 2 == 1 ?
			ACCESS_ALL : ACCESS_NONE };
	}
	for (size_t i = 0; i < ACCESS_RULES_MAX; i++) {
		const struct access_client c = { .uid = (uid_t)i };

		access_match(&a, &c, &m);
		ck_assert_int_eq(access_allows(&a, &m, 0, &key, ACCESS_TAKE,
		    &rule), i % 2 == 1);
		ck_assert_ptr_eq(rule, &many[i]);
	}
}

TEST(test_words)
{
	struct access_rule r = { .name = "rest", .line = 12,
		.file = "/etc/ddblockd/ddblockd.conf" };
	const struct key key = { "db/\033x", 5 };
	char text[ACCESS_TEXT_MAX], longest[1024];

	ck_assert_uint_eq(access_right("fail-closed", 11),
	    ACCESS_FAIL_CLOSED);
	ck_assert_uint_eq(access_right("all", 3), ACCESS_ALL);
	ck_assert_uint_eq(access_right("al", 2), ACCESS_NONE);
	for (unsigned right = 1; right <= ACCESS_ADMIN; right <<= 1)
		ck_assert_uint_eq(access_right(access_word(right),
		    strlen(access_word(right))), right);
	access_refusal(&r, 2001, ACCESS_TAKE, "main", &key, text);
	ck_assert_str_eq(text, "rule \"rest\" (line 12 of "
	    "/etc/ddblockd/ddblockd.conf) does not let uid 2001 take "
	    "\"db/?x\" in namespace \"main\"");
	access_refusal(NULL, 2001, ACCESS_FAIL_CLOSED, "main", &key, text);
	ck_assert_str_eq(text, "no rule lets uid 2001 hold \"db/?x\" "
	    "fail-closed in namespace \"main\"");
	access_refusal(NULL, 2001, ACCESS_ADMIN, "main", NULL, text);
	ck_assert_str_eq(text, "no rule lets uid 2001 administer namespace "
	    "\"main\"");
	memset(longest, 'k', sizeof(longest));
	access_refusal(&r, 2001, ACCESS_TAKE, "main",
	    &(struct key){ longest, sizeof(longest) }, text);
	ck_assert_ptr_nonnull(strstr(text, "k\" in namespace \"main\""));
}

static const struct {
	const char *cgroup;
	const char *unit;	/* NULL: not known */
} cgroups[] = {
	{ "0::/system.slice/nginx.service\n", "system.slice/nginx.service" },
	{ "0::/system.slice/system-getty.slice/getty@tty1.service\n",
	    "system.slice/system-getty.slice/getty@tty1.service" },
	/* What a user's manager makes may have any name. */
	{ "0::/user.slice/user-1000.slice/user@1000.service/app.slice/"
	    "nginx.service\n",
	    "user.slice/user-1000.slice/user@1000.service" },
	{ "0::/user.slice/user-0.slice/session-3.scope\n",
	    "user.slice/user-0.slice/session-3.scope" },
	{ "0::/system.slice/docker-0a1b.scope/init/nginx.service\n",
	    "system.slice/docker-0a1b.scope" },
	{ "0::/init.scope\n", "init.scope" },
	{ "0::/\n", "" },
	/* Version 1, the layout between, and one beside the other. */
	{ "12:pids:/a.slice/x.service\n1:name=systemd:/system.slice/"
	    "y.service\n", "system.slice/y.service" },
	{ "1:name=systemd:/system.slice/y.service\n0::/\n",
	    "system.slice/y.service" },
	{ "0::/\n1:name=systemd:/system.slice/y.service\n",
	    "system.slice/y.service" },
	{ "1:name=systemd:/y.service\n0::/system.slice/z.service\n",
	    "system.slice/z.service" },
	{ "0::/system.slice/z.service\n1:name=systemd:/y.service\n",
	    "system.slice/z.service" },
	{ "9:name=systemd:/\n8:pids:/\n0::/a.service\n", "a.service" },
	{ "0::/a.service\n9:name=systemd:/\n8:pids:/\n", "a.service" },
	{ "9:name=systemd:/\n0::/\n", "" },
	{ "3:cpu,cpuacct:/x.service\n", NULL },
	/* Escaped, and a name that has a colon. */
	{ "0::/system.slice/_cpu.service\n", "system.slice/cpu.service" },
	{ "0::/system.slice/a:0::.service\n", "system.slice/a:0::.service" },
	/* Outside of what can be seen, gone, cut, empty. */
	{ "0::/../x.service\n", NULL },
	{ "0::/system.slice/../x.service\n", NULL },
	{ "0::/system.slice/x.service (deleted)\n", NULL },
	{ "0::/system.slice/x.serv", NULL },
	{ "0::\n", NULL },
	{ "0::x.service\n", NULL },
	{ "0:://x.service\n", NULL },
	{ "", NULL },
};

TEST_ROWS(test_unit, cgroups)
{
	char unit[ACCESS_UNIT_MAX];
	bool known = access_unit(cgroups[_i].cgroup, unit);

	ck_assert_int_eq(known, cgroups[_i].unit != NULL);
	if (known)
		ck_assert_str_eq(unit, cgroups[_i].unit);
}

TEST(test_a_long_unit)
{
	char text[2048], unit[ACCESS_UNIT_MAX];
	int n = snprintf(text, sizeof(text), "0::");

	for (int i = 0; i < 60; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "/a-%d.slice",
		    i);
	(void)snprintf(text + n, sizeof(text) - (size_t)n, "/x.service\n");
	ck_assert(!access_unit(text, unit));
}

TEST(test_is_unit)
{
	ck_assert(access_is_unit("s.slice/a.service", "a.service"));
	ck_assert(access_is_unit("s.slice/a.service", "s.slice"));
	ck_assert(!access_is_unit("s.slice/a.service", "service"));
	ck_assert(!access_is_unit("s.slice/a.service", "a.servic"));
	ck_assert(!access_is_unit("", "a.service"));
	ck_assert(!access_is_unit("s.slice", ""));
}
