#!/usr/bin/env python3
"""The alerts and the board of contrib/: the rules by promtool, with a story for
each alert; the board by what Grafana needs of its JSON, of which it publishes
no schema, and its queries by promtool. What they name exists.

`make check-prometheus` runs all of them against a Prometheus that scrapes a
daemon.
"""
import json
import os
import re
import tempfile
import unittest

from prometheus import BOARD, HERE, RULES, promtool, queries, samples

import harness

UNITS = {"short", "s", "ops", "bytes", "percentunit"}
WIDTH = 24  # of the grid, in columns


def names(expression):
    """The metrics in it."""
    return set(re.findall(r"\b(?:ddblockd|process)_\w+", expression))


class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(RULES, encoding="utf-8") as f:
            cls.rules = f.read()
        with open(os.path.join(HERE, "rules.test.yml"),
                  encoding="utf-8") as f:
            cls.stories = f.read()

    def play(self, rules):
        """promtool test rules, with these."""
        with tempfile.TemporaryDirectory() as directory:
            paths = [os.path.join(directory, name)
                     for name in ("rules.yml", "stories.yml")]
            for path, text in zip(paths, (
                    rules, self.stories.replace("@RULES@", paths[0]))):
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
            promtool("test", "rules", paths[1])

    def test_each_alert_has_its_story(self):
        """All of it comes true; without an alert, or if that is always
        raised, it does not."""
        promtool("check", "rules", RULES)
        self.play(self.rules)
        head, *alerts = re.split(r"(?=      - alert: )", self.rules)
        self.assertGreaterEqual(len(alerts), 8)
        for i, alert in enumerate(alerts):
            always = re.sub(r"expr:.*?(?=\n        (for|labels):)",
                            "expr: vector(1)", alert, flags=re.S)
            for other in ("", always):
                with self.assertRaises(AssertionError, msg=alert):
                    self.play(head + "".join(alerts[:i] + [other]
                                             + alerts[i + 1:]))

    def test_what_they_name_exists(self):
        expressions = re.sub(r"summary:.*|description: >-\n( {12}.*\n)+", "",
                             self.rules)
        self.assertGreater(len(names(expressions)), 8)
        self.assertEqual(names(expressions) - samples(), set())


class Board(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(BOARD, encoding="utf-8") as f:
            cls.board = json.load(f)

    def test_it_can_be_imported(self):
        """As any other board: its data source and its choices are
        variables, and nothing belongs to one Grafana."""
        board = self.board
        self.assertIsNone(board["id"])
        self.assertEqual((board["title"], board["uid"]),
                         ("ddblockd", "ddblockd"))
        self.assertGreaterEqual(board["schemaVersion"], 36)
        self.assertEqual(
            {v["name"]: v["type"] for v in board["templating"]["list"]},
            {"datasource": "datasource", "instance": "query",
             "namespace": "query"})

        def sources(part):
            if isinstance(part, dict):
                if "datasource" in part:
                    yield part["datasource"]
                part = list(part.values())
            for one in part if isinstance(part, list) else []:
                yield from sources(one)
        self.assertEqual({json.dumps(s, sort_keys=True)
                          for s in sources(board)},
                         {'{"type": "prometheus", "uid": "${datasource}"}'})

    def test_its_panels(self):
        """Each has its place, a title, words, a unit and queries."""
        ids, titles, taken = set(), set(), set()
        for p in self.board["panels"]:
            at = p["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], WIDTH, p["title"])
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                     for y in range(at["y"], at["y"] + at["h"])}
            self.assertEqual(taken & cells, set(), p["title"])
            taken |= cells
            self.assertNotIn(p["id"], ids)
            self.assertNotIn(p["title"], titles)
            ids.add(p["id"])
            titles.add(p["title"])
            self.assertIn(p["type"], ("row", "stat", "timeseries"))
            if p["type"] == "row":
                continue
            self.assertTrue(p["description"].endswith("."), p["title"])
            self.assertIn(p["fieldConfig"]["defaults"]["unit"], UNITS)
            refs = [t["refId"] for t in p["targets"]]
            self.assertEqual(len(refs), len(set(refs)))
            self.assertGreater(len(refs), 0)

    def test_what_a_legend_shows_is_in_its_query(self):
        for p in self.board["panels"]:
            for t in p.get("targets", []):
                by = " ".join(re.findall(r"by \(([\w, ]+)\)", t["expr"]))
                for label in re.findall(r"\{\{(\w+)\}\}", t["legendFormat"]):
                    self.assertTrue(
                        re.search(rf"\b{label}\b", by) or (
                            not by and label == "instance"),
                        (p["title"], label))

    def test_its_queries(self):
        """Prometheus can read them, and what they name exists."""
        found = list(queries(self.board))
        self.assertGreater(len(found), 40)
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as f:
            f.write("groups:\n- name: board\n  rules:\n")
            for _, expression in found:
                f.write("  - record: x:y\n"
                        f"    expr: {json.dumps(expression)}\n")
            f.flush()
            promtool("check", "rules", "--lint=none", f.name)
        for title, expression in found:
            self.assertEqual(names(expression) - samples(), set(), title)


if __name__ == "__main__":
    harness.main()
