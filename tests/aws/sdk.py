"""botocore, as tests/aws/setup installed it, for tests that ask it.

Import this before anything of botocore's. DDBLOCK_AWS names the directory that
was given to setup; without it the test is skipped, or fails if it must run.
"""
import glob
import os
import site
import sys
import unittest


def _find():
    directory = os.environ.get("DDBLOCK_AWS")
    if not directory:
        return "DDBLOCK_AWS is not set: see tests/aws/setup"
    found = glob.glob(os.path.join(directory, "venv/lib/python3*/"
                                   "site-packages"))
    if not found:
        return f"there is no botocore in {directory}: run tests/aws/setup"
    # Before what else is installed here, and nothing of the user's own.
    before = list(sys.path)
    site.addsitedir(found[0])
    sys.path[:] = [p for p in sys.path if p not in before] + before
    return None


def without_environment():
    """Nothing of AWS may come from where the tests run."""
    for name in list(os.environ):
        if name.startswith("AWS_") or name == "BOTO_CONFIG":
            del os.environ[name]


def program(name):
    """A program that is built with the tests, in the directory they run in."""
    path = os.path.join(os.getcwd(), name)
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: run in the build directory")
    return path


def main():
    """As unittest.main(), but 77 if all was skipped, and 1 if nothing may."""
    result = unittest.main(exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    if result.skipped and len(result.skipped) == result.testsRun:
        missing(f"{len(result.skipped)} tests skipped")


def missing(reason):
    print(reason)
    sys.exit(1 if os.environ.get("DDBLOCK_MUST_RUN") == "1" else 77)


_reason = _find()
if _reason:
    missing(_reason)

import botocore  # noqa: E402  (only now can it be found)

VERSION = botocore.__version__
