/*
 * Plans for tests of their language: read, written, and compared.
 */
#ifndef DDBLOCKD_TESTS_PLAN_CASE_H
#define DDBLOCKD_TESTS_PLAN_CASE_H

#include <stdio.h>

#include "plan.h"
#include "suite.h"

#define TEXT_MAX 65536

int plan_parse(struct plan *, const char *text, char *ret_wrong, size_t size);
void plan_print(const struct plan *, char *ret_text, size_t size);
void plan_expect_same(const struct plan *, const struct plan *);
/* Text to plan to text: to the letter. */
void plan_expect_text(const char *text);

#endif
