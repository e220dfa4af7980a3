/*
 * The model of DynamoDB as a filter: each line of the input is OPERATION, a
 * tab and the JSON of a request, each line of the output the status of the
 * answer, a tab and its JSON. The service's clock stands still.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dynamo.h"

#define PIPE_WALL_MS UINT64_C(1700000000000)

static void
pipe_line(struct dynamo *d, char *line, size_t length)
{
	struct dynamo_answer a;
	char *body = memchr(line, '\t', length);

	if (body == NULL) {
		(void)printf("0\tthere is no tab\n");
		return;
	}
	*body++ = '\0';
	dynamo_answer_init(&a);
	dynamo_request(d, PIPE_WALL_MS, line, body,
	    length - (size_t)(body - line), &a);
	(void)printf("%d\t%.*s\n", a.status, (int)a.body.length, a.body.data);
	dynamo_answer_done(&a);
}

int
main(void)
{
	struct dynamo *d = dynamo_new();
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (d == NULL)
		return EXIT_FAILURE;
	while ((n = getline(&line, &size, stdin)) >= 0) {
		if (n > 0 && line[n - 1] == '\n')
			line[--n] = '\0';
		pipe_line(d, line, (size_t)n);
		(void)fflush(stdout);
	}
	free(line);
	dynamo_free(d);
	return EXIT_SUCCESS;
}
