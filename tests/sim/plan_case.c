/*
 * Plans for tests of their language.
 */
#include "plan_case.h"

#include <string.h>

int
plan_parse(struct plan *p, const char *text, char *ret_wrong, size_t size)
{
	FILE *from = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int r;

	ck_assert_ptr_nonnull(from);
	plan_init(p);
	r = plan_read(p, from, ret_wrong, size);
	(void)fclose(from);
	return r;
}

void
plan_print(const struct plan *p, char *ret_text, size_t size)
{
	FILE *to = fmemopen(ret_text, size, "w");

	ck_assert_ptr_nonnull(to);
	plan_write(p, to);
	(void)fclose(to);
}

void
plan_expect_same(const struct plan *a, const struct plan *b)
{
	ck_assert_uint_eq(a->seed, b->seed);
	ck_assert_uint_eq(a->n_hosts, b->n_hosts);
	ck_assert_uint_eq(a->n_namespaces, b->n_namespaces);
	ck_assert_uint_eq(a->bridge, b->bridge);
	ck_assert_uint_eq(a->hedges, b->hedges);
	ck_assert_uint_eq(a->no_transactions, b->no_transactions);
	ck_assert_uint_eq(a->ns.hints, b->ns.hints);
	ck_assert_uint_eq(a->bad_hints, b->bad_hints);
	ck_assert_mem_eq(&a->ns, &b->ns, sizeof(a->ns));
	ck_assert_mem_eq(&a->limits, &b->limits, sizeof(a->limits));
	ck_assert_uint_eq(a->retention_s, b->retention_s);
	ck_assert_uint_eq(a->latency_ms, b->latency_ms);
	ck_assert_uint_eq(a->latency_max_ms, b->latency_max_ms);
	ck_assert_uint_eq(a->lateness_ms, b->lateness_ms);
	ck_assert_mem_eq(a->hosts, b->hosts,
	    a->n_hosts * sizeof(a->hosts[0]));
	ck_assert_mem_eq(a->namespaces, b->namespaces, sizeof(a->namespaces));
	ck_assert_uint_eq(a->n_peers, b->n_peers);
	ck_assert_mem_eq(a->peers, b->peers,
	    a->n_peers * sizeof(a->peers[0]));
	ck_assert_uint_eq(a->quiet_ms, b->quiet_ms);
	ck_assert_uint_eq(a->end_ms, b->end_ms);
	ck_assert_pstr_eq(a->trace, b->trace);
	ck_assert_uint_eq(a->n_steps, b->n_steps);
	for (size_t i = 0; i < a->n_steps; i++)
		ck_assert_mem_eq(&a->steps[i], &b->steps[i],
		    sizeof(a->steps[i]));
}

/* Text to plan to text: to the letter. */
void
plan_expect_text(const char *text)
{
	static char again[TEXT_MAX];
	char wrong[256] = "";
	struct plan p;

	ck_assert_msg(plan_parse(&p, text, wrong, sizeof(wrong)) == 0, "%s",
	    wrong);
	plan_print(&p, again, sizeof(again));
	ck_assert_str_eq(again, text);
	plan_done(&p);
}
