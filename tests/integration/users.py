"""Other users: children with another user id, for which a test must be root."""
import os

STRANGER = 65534  # a user and a group that root is not


def become(user, group, others=()):
    os.setgroups(others)
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
