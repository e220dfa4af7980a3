/*
 * The partitions of AWS. Made by tests/aws/partitions.py from botocore
 * 1.44.5; do not edit.
 */
#include "identity/partitions.h"

#include <stddef.h>

static const char *const prefixes_0[] = {
	"us-",
	"eu-",
	"ap-",
	"sa-",
	"ca-",
	"me-",
	"af-",
	"il-",
	"mx-",
	NULL,
};

static const char *const others_0[] = {
	"aws-global",
	NULL,
};

static const char *const prefixes_1[] = {
	"cn-",
	NULL,
};

static const char *const others_1[] = {
	"aws-cn-global",
	NULL,
};

static const char *const prefixes_2[] = {
	"eusc-de-",
	NULL,
};

static const char *const others_2[] = {
	NULL,
};

static const char *const prefixes_3[] = {
	"us-iso-",
	NULL,
};

static const char *const others_3[] = {
	"aws-iso-global",
	NULL,
};

static const char *const prefixes_4[] = {
	"us-isob-",
	NULL,
};

static const char *const others_4[] = {
	"aws-iso-b-global",
	NULL,
};

static const char *const prefixes_5[] = {
	"eu-isoe-",
	NULL,
};

static const char *const others_5[] = {
	"aws-iso-e-global",
	NULL,
};

static const char *const prefixes_6[] = {
	"us-isof-",
	NULL,
};

static const char *const others_6[] = {
	"aws-iso-f-global",
	NULL,
};

static const char *const prefixes_7[] = {
	"us-gov-",
	NULL,
};

static const char *const others_7[] = {
	"aws-us-gov-global",
	NULL,
};

const struct partition partitions[] = {
	{
		.name = "aws",
		.suffix = "amazonaws.com",
		.dual_stack_suffix = "api.aws",
		.has_fips = true,
		.has_dual_stack = true,
		.prefixes = prefixes_0,
		.others = others_0,
	},
	{
		.name = "aws-cn",
		.suffix = "amazonaws.com.cn",
		.dual_stack_suffix = "api.amazonwebservices.com.cn",
		.has_fips = true,
		.has_dual_stack = true,
		.prefixes = prefixes_1,
		.others = others_1,
	},
	{
		.name = "aws-eusc",
		.suffix = "amazonaws.eu",
		.dual_stack_suffix = "api.amazonwebservices.eu",
		.has_fips = true,
		.has_dual_stack = true,
		.prefixes = prefixes_2,
		.others = others_2,
	},
	{
		.name = "aws-iso",
		.suffix = "c2s.ic.gov",
		.dual_stack_suffix = "api.aws.ic.gov",
		.has_fips = true,
		.has_dual_stack = true,
		.prefixes = prefixes_3,
		.others = others_3,
	},
	{
		.name = "aws-iso-b",
		.suffix = "sc2s.sgov.gov",
		.dual_stack_suffix = "api.aws.scloud",
		.has_fips = true,
		.has_dual_stack = true,
		.prefixes = prefixes_4,
		.others = others_4,
	},
	{
		.name = "aws-iso-e",
		.suffix = "cloud.adc-e.uk",
		.dual_stack_suffix = "api.cloud-aws.adc-e.uk",
		.has_fips = true,
		.has_dual_stack = true,
		.prefixes = prefixes_5,
		.others = others_5,
	},
	{
		.name = "aws-iso-f",
		.suffix = "csp.hci.ic.gov",
		.dual_stack_suffix = "api.aws.hci.ic.gov",
		.has_fips = true,
		.has_dual_stack = true,
		.prefixes = prefixes_6,
		.others = others_6,
	},
	{
		.name = "aws-us-gov",
		.suffix = "amazonaws.com",
		.dual_stack_suffix = "api.aws",
		.has_fips = true,
		.has_dual_stack = true,
		.prefixes = prefixes_7,
		.others = others_7,
	},
	{ .name = NULL },
};

const char *const partition_account_regions[] = {
	"cn-north-1",
	"cn-northwest-1",
	"us-gov-east-1",
	"us-gov-west-1",
	NULL,
};
