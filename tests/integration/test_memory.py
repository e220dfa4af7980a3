"""A daemon whose locks are in memory: as any other, until it ends."""
import os
import unittest

import harness
from harness import Client, Daemon

CONFIG = "[namespace default]\nstore = memory\ntry_timeout = 5s\n"


class Memory(unittest.TestCase):
    def test_locks(self):
        with Daemon(CONFIG) as daemon, Client(daemon) as one, \
                Client(daemon) as two:
            grant = one.try_("jobs")
            self.assertTrue(grant.ok, grant)
            self.assertEqual(two.try_("jobs").code, "LOCK_BUSY")
            tag = two.send("ACQUIRE jobs wait=forever")
            row = one.call("STATUS").rows[0]
            self.assertEqual((row["store"], row["scope"], row["where"],
                              row["held"], row["waiting"]),
                             ("memory", "host", "memory", "1", "1"))
            self.assertTrue(one.release(grant).ok)
            handed = two.reply(tag)
            self.assertGreater(int(handed["token"]), int(grant["token"]))
            rows = one.call("LIST").rows
            self.assertEqual([r["key"] for r in rows], ["jobs"])
            self.assertTrue(two.release(handed).ok)

    def test_shared_several_and_kept(self):
        with Daemon(CONFIG) as daemon, Client(daemon) as one, \
                Client(daemon) as two:
            readers = [c.try_("book", mode="shared") for c in (one, two)]
            self.assertTrue(all(r.ok for r in readers), readers)
            self.assertTrue(one.call("ACQUIRE a b wait=5s").ok)
            self.assertEqual(two.try_("b").code, "LOCK_BUSY")
            grant = two.try_("kept", data="hello")
            self.assertTrue(two.release(grant).ok)
            self.assertEqual(one.call("GET kept")["data"], "hello")

    def test_more_locks_than_a_page(self):
        with Daemon(CONFIG) as daemon, Client(daemon) as client:
            keys = {f"many/{i}" for i in range(250)}
            for key in keys:
                self.assertTrue(client.try_(key).ok)
            self.assertTrue(client.try_("other").ok)
            rows = client.call("LIST prefix=many/").rows
            self.assertEqual({r["key"] for r in rows}, keys)
            self.assertEqual(len(rows), len(keys))

    def test_a_token_never_goes_back(self):
        with Daemon(CONFIG + "idle = 0s\n") as daemon, \
                Client(daemon) as client:
            token = 0
            for _ in range(20):
                grant = client.try_("jobs")
                self.assertGreater(int(grant["token"]), token)
                token = int(grant["token"])
                self.assertTrue(client.release(grant).ok)

    def test_all_is_lost_with_the_daemon(self):
        daemon = Daemon(CONFIG)
        try:
            daemon.start()
            with Client(daemon) as client:
                self.assertTrue(client.try_("jobs").ok)
                daemon.kill()
            daemon.start()
            with Client(daemon) as client:
                self.assertTrue(client.try_("jobs").ok)
            left = set(os.listdir(daemon.directory))
            self.assertLessEqual(left, {"sock", "sock.journal", "notify",
                                        "ddblockd.conf"})
        finally:
            daemon.close()

    def test_namespaces_are_apart(self):
        with Daemon(CONFIG + "[namespace jobs]\nstore = memory\n") \
                as daemon, Client(daemon) as client:
            self.assertTrue(client.try_("x").ok)
            self.assertTrue(client.try_("x", ns="jobs").ok)


class Questions(unittest.TestCase):
    def ask(self, *args):
        daemon = Daemon(CONFIG, args=args)
        try:
            return daemon.run()
        finally:
            daemon.close()

    def test_table(self):
        for question in ("--init-table", "--check-table"):
            status, out, err = self.ask(question)
            self.assertEqual((status, err), (0, ""))
            self.assertIn("namespace default: in memory: ", out)

    def test_check(self):
        status, out, err = self.ask("--check")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("set another store", " ".join(out.split()))
        with Daemon(CONFIG) as daemon, Client(daemon) as client:
            reply = client.call("CHECK")
            self.assertEqual([r["state"] for r in reply.rows], ["warning"])

    def test_settings_of_other_stores(self):
        for setting, store in (("file=/x", "sqlite"),
                               ("table=locks", "dynamodb"),
                               ("retention=1d", "sqlite|dynamodb")):
            name = setting.partition("=")[0]
            status, out, err = self.ask(f"--set=default.{setting}")
            self.assertEqual((status, out), (78, ""))
            self.assertIn(f"namespace default: {name} is for store = {store};"
                          " remove it or change store", err)


if __name__ == "__main__":
    harness.main()
