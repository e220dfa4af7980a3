#!/usr/bin/env python3
"""Print src/identity/partitions.c from what botocore knows.

    DDBLOCK_AWS=DIRECTORY tests/aws/partitions.py >src/identity/partitions.c

Where its data have a form that the table cannot have, this fails; that the
table is theirs, and that what endpoint_rules.c makes of it is what their rules
say, is tested by test_endpoints.py.
"""
import re
import sys

import sdk

from botocore.loaders import Loader

HEAD = """\
/*
 * The partitions of AWS. Made by tests/aws/partitions.py from botocore
 * %s; do not edit.
 */
#include "identity/partitions.h"

#include <stddef.h>

"""


def prefixes(pattern):
    """The texts before a word and a number: "us-" of "us-east-1"."""
    match = re.fullmatch(r"\^(.*)\\-\\w\+\\-\\d\+\$", pattern)
    if match is None:
        raise ValueError(f"another form of region: {pattern}")
    found = [""]
    for part in re.findall(r"\(([a-z|]+)\)|([a-z]+)|(\\-)", match.group(1)):
        choices = part[0].split("|") if part[0] else [part[1] or "-"]
        found = [f + c for f in found for c in choices]
    rebuilt = re.sub(r"\(([a-z|]+)\)|[a-z]+|\\-", "", match.group(1))
    if rebuilt:
        raise ValueError(f"another form of region: {pattern}")
    return [f + "-" for f in found]


def account_regions(rules):
    """Those outside of aws that have endpoints of accounts, by the conditions
    under which there are none."""
    found = set()

    def look(rule):
        names, partition = set(), None
        for condition in rule.get("conditions", []):
            if condition["fn"] != "not":
                continue
            inner = condition["argv"][0]
            if inner["fn"] != "stringEquals":
                continue
            what, value = inner["argv"]
            if what == {"ref": "Region"}:
                names.add(value)
            elif what.get("fn") == "getAttr" and value == "aws":
                partition = value
        if names and partition:
            found.add(tuple(sorted(names)))
        for inner in rule.get("rules", []):
            look(inner)

    for rule in rules["rules"]:
        look(rule)
    if len(found) != 1:
        raise ValueError(f"regions with endpoints of accounts: {found}")
    return found.pop()


def strings(texts):
    return "".join(f'\t"{text}",\n' for text in texts)


def main():
    loader = Loader()
    partitions = loader.load_data("partitions")["partitions"]
    rules = loader.load_service_model("dynamodb", "endpoint-rule-set-1")
    out = [HEAD % sdk.VERSION]
    for number, partition in enumerate(partitions):
        known = prefixes(partition["regionRegex"])
        out.append(f"static const char *const prefixes_{number}[] = {{\n"
                   f"{strings(known)}\tNULL,\n}};\n\n")
        others = [r for r in partition["regions"]
                  if not re.match(partition["regionRegex"], r)]
        out.append(f"static const char *const others_{number}[] = {{\n"
                   f"{strings(others)}\tNULL,\n}};\n\n")
    out.append("const struct partition partitions[] = {\n")
    for number, partition in enumerate(partitions):
        outputs = partition["outputs"]
        out.append(
            f"\t{{\n\t\t.name = \"{partition['id']}\",\n"
            f"\t\t.suffix = \"{outputs['dnsSuffix']}\",\n"
            f"\t\t.dual_stack_suffix = \"{outputs['dualStackDnsSuffix']}\",\n"
            f"\t\t.has_fips = {str(outputs['supportsFIPS']).lower()},\n"
            f"\t\t.has_dual_stack = "
            f"{str(outputs['supportsDualStack']).lower()},\n"
            f"\t\t.prefixes = prefixes_{number},\n"
            f"\t\t.others = others_{number},\n\t}},\n")
    out.append("\t{ .name = NULL },\n};\n\n")
    out.append("const char *const partition_account_regions[] = {\n"
               f"{strings(account_regions(rules))}\tNULL,\n}};\n")
    sys.stdout.write("".join(out))


if __name__ == "__main__":
    main()
