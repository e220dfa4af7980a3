"""How the Go, Java and Rust clients become packages, and how one is used.

Each class builds a package as its language's registry has it, out of a copy of
contrib/clients, and makes a project elsewhere that knows the package by its
name and version only. Nothing is fetched for it, except Maven's own plugins.
"""
import glob
import os
import re
import shutil
import unittest
import zipfile

import packages
from packages import CLIENTS, TOP, version

import harness  # noqa: E402 (packages knows where these are)
import test_clients  # noqa: E402

DRIVERS = os.path.join(TOP, "tests", "clients")
WORK = os.path.abspath(os.path.join("clients.d", "packages"))
# What a build leaves beside its sources.
MADE = shutil.ignore_patterns("target", "Cargo.lock")


def read(path):
    return packages.read(os.path.join(TOP, path), "rb")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def run(directory, *command, **env):
    """What it says. It may fetch, and takes the time that this takes."""
    return packages.run(*command, cwd=directory, timeout=None, **env)


def copy(language, directory):
    """The sources, in a place and of a time of their own."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(os.path.join(CLIENTS, language), directory, ignore=MADE)


def files(directory):
    """{name: bytes} of all files below it."""
    found = {}
    for where, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(where, name)
            found[os.path.relpath(path, directory)] = packages.read(path, "rb")
    return found


def archived(path):
    """{name: bytes} of the files in a zip or a jar."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()
                if not name.endswith("/")}


def readme(language):
    return os.path.join(CLIENTS, language, "README.md")


def shown(language, kind):
    """The programs or settings in its README."""
    return packages.fenced(readme(language), kind)


def commands(language):
    """Those with which it is installed from a checkout."""
    (block,) = packages.indented(readme(language))
    return block


def rust_homes():
    """Where rustup's Rust is, if it is that one, for another $HOME."""
    home = os.path.expanduser("~")
    return {name: os.environ.get(name) or os.path.join(home, folder)
            for name, folder in (("CARGO_HOME", ".cargo"),
                                 ("RUSTUP_HOME", ".rustup"))}


class Package:
    """One language's. @sources of the tree are in it, each unchanged."""

    language = None
    tools = ()

    def __init__(self):
        self.directory = os.path.join(WORK, self.language)
        os.makedirs(self.directory, exist_ok=True)
        self.version = version()

    def missing(self):
        return [tool for tool in self.tools if shutil.which(tool) is None]

    def home(self):
        """That of a user, with a checkout as the README has it."""
        home = os.path.join(self.directory, "home")
        copy(self.language, os.path.join(home, "ddblockd", "contrib",
                                         "clients", self.language))
        return home

    def build(self, directory):
        """Make it in an empty folder: {name in a registry: bytes}."""
        run(directory, os.path.join(TOP, "scripts", "client-packages"),
            directory, self.language, **self.builder())
        return files(directory)

    def builder(self):
        """What that finds in its environment."""
        return {}

    def contents(self, built):
        """{path in contrib/clients/LANGUAGE: bytes} of its sources."""
        raise NotImplementedError

    def sources(self):
        """The paths that it must have."""
        raise NotImplementedError

    def install(self):
        """Build it, and put it where other projects look."""
        raise NotImplementedError

    def project(self, name, program, drivers=()):
        """An empty folder, and then a project that uses it: the command."""
        raise NotImplementedError


class GoModule(Package):
    """A folder as a module proxy has it: go get reads it as file://."""

    language = "go"
    tools = ("go",)
    path = "ddblockd.example/ddblock"

    def __init__(self):
        super().__init__()
        self.proxy = os.path.join(self.directory, "proxy")
        self.cache = os.path.join(self.directory, "modules")
        self.env = {
            "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -modcacherw",
            "GOTOOLCHAIN": "local", "GOPROXY": f"file://{self.proxy}",
            "GONOSUMDB": "*", "GOMODCACHE": self.cache,
            "GOCACHE": os.path.join(test_clients.BUILD, "go", "cache"),
        }

    def contents(self, built):
        place = os.path.join(self.directory, "contents.zip")
        with open(place, "wb") as f:
            f.write(next(data for name, data in built.items()
                         if name.endswith(".zip")))
        root = f"{self.path}@v{self.version}/"
        return {name[len(root):]: data
                for name, data in archived(place).items()}

    def sources(self):
        return ["LICENSE", "README.md", "ddblock.go", "dlock/dlock.go",
                "example_test.go", "go.mod"]

    def install(self):
        for each in self.proxy, self.cache:
            shutil.rmtree(each, ignore_errors=True)
        os.makedirs(self.proxy)
        self.build(self.proxy)

    def project(self, name, program, drivers=()):
        directory = os.path.join(self.directory, name)
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        for driver in drivers:
            shutil.copy(os.path.join(DRIVERS, driver), directory)
        if program:
            write(os.path.join(directory, "main.go"), program)
        run(directory, "go", "mod", "init", "example.org/project", **self.env)
        # Published: without that it is taken from a checkout.
        run(directory, "sh", "-ec", commands("go").splitlines()[-1],
            **self.env)
        run(directory, "go", "build", "-o", "program", ".", **self.env)
        return [os.path.join(directory, "program")]


class Crate(Package):
    """What `cargo package` makes and verifies."""

    language = "rust"
    tools = ("cargo", "rustc")

    def cargo(self, directory, *arguments, toolchain=(), **env):
        return run(directory, "cargo", *toolchain, *arguments,
                   CARGO_NET_OFFLINE="true", CARGO_TERM_COLOR="never", **env)

    def unpack(self, built, directory):
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        (name, data), = built.items()
        with open(os.path.join(directory, name), "wb") as f:
            f.write(data)
        run(directory, "tar", "-xzf", name)
        return os.path.join(directory, name[:-len(".crate")])

    def contents(self, built):
        found = files(self.unpack(built, os.path.join(self.directory,
                                                      "contents")))
        # What cargo adds of its own; its Cargo.toml is a normal form.
        for name in "Cargo.lock", ".cargo_vcs_info.json", "Cargo.toml":
            found.pop(name, None)
        found["Cargo.toml"] = found.pop("Cargo.toml.orig")
        return found

    def sources(self):
        return ["Cargo.toml", "LICENSE", "README.md", "ddblock.rs"]

    def install(self):
        place = os.path.join(self.directory, "built")
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        self.unpacked = self.unpack(self.build(place), os.path.join(
            self.directory, "unpacked"))

    def project(self, name, program, drivers=()):
        directory = os.path.join(self.directory, name)
        shutil.rmtree(directory, ignore_errors=True)
        for driver in drivers:
            program = read(f"tests/clients/{driver}").decode()
        write(os.path.join(directory, "src", "main.rs"), program)
        (dependency,) = shown("rust", "toml")
        dependency = re.fullmatch(
            r'\[dependencies\]\nddblock = "([\d.]+)"\n', dependency)[1]
        write(os.path.join(directory, "Cargo.toml"), f"""
[package]
name = "project"
version = "1.0.0"
edition = "2021"
[features]
default = ["crate"]
crate = []
[dependencies]
ddblock = {{ version = "{dependency}", path = "{self.unpacked}" }}
""")
        said = self.cargo(directory, "build", "--quiet")
        if said:
            raise AssertionError(said)
        return [os.path.join(directory, "target", "debug", "project")]


class Jar(Package):
    """What `mvn install` puts into a repository. Maven's plugins are fetched
    once, into one of their own."""

    language = "java"
    tools = ("java", "javac", "mvn")

    def __init__(self):
        super().__init__()
        self.plugins = packages.tools("java")
        self.repository = os.path.join(self.directory, "repository")

    def maven(self, directory, *arguments):
        return run(directory, "mvn", "--batch-mode", "--quiet",
                   "-Dstyle.color=never",
                   f"-Dmaven.repo.local={self.plugins}", *arguments)

    def builder(self):
        return {"DDBLOCK_MAVEN": self.plugins}

    def open(self, built, kind=""):
        place = os.path.join(self.directory, "contents.jar")
        with open(place, "wb") as f:
            f.write(built[f"ddblock-{self.version}{kind}.jar"])
        return archived(place)

    def contents(self, built):
        found = {"pom.xml": built[f"ddblock-{self.version}.pom"]}
        for name, data in self.open(built, "-sources").items():
            if name == "META-INF/LICENSE":
                found["LICENSE"] = data
            elif not name.startswith("META-INF/"):
                found[f"src/main/java/{name}"] = data
        return found

    def sources(self):
        root = os.path.join(CLIENTS, "java")
        return ["LICENSE", "pom.xml"] + [
            os.path.relpath(path, root) for path in glob.glob(
                os.path.join(root, "src", "**", "*.java"), recursive=True)]

    def install(self):
        """By coordinates, in an empty repository."""
        shutil.rmtree(self.repository, ignore_errors=True)
        run(self.directory, "bash", "-ec",
            'mvn() { command mvn --batch-mode --quiet "$@"'
            f" -Dmaven.repo.local='{self.plugins}'; }}\n" + commands("java"),
            HOME=self.home())
        name = os.path.join("example", "ddblockd", "ddblock")
        shutil.move(os.path.join(self.plugins, name),
                    os.path.join(self.repository, name))

    def project(self, name, program, drivers=()):
        directory = os.path.join(self.directory, name)
        shutil.rmtree(directory, ignore_errors=True)
        source = os.path.join(directory, "src", "main", "java")
        os.makedirs(source)
        for driver in drivers:
            shutil.copy(os.path.join(DRIVERS, driver), source)
        main = "Driver"
        if program:
            main = re.search(r"\bclass (\w+)", program)[1]
            write(os.path.join(source, f"{main}.java"), program)
        write(os.path.join(directory, "pom.xml"), f"""
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId>
  <artifactId>project</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <repositories>
    <repository>
      <id>installed</id>
      <url>file://{self.repository}</url>
    </repository>
  </repositories>
  <dependencies>
{shown("java", "xml")[0]}
  </dependencies>
  <build>
    <plugins>
      <plugin>
        <artifactId>maven-compiler-plugin</artifactId>
        <version>3.13.0</version>
      </plugin>
      <plugin>
        <artifactId>maven-resources-plugin</artifactId>
        <version>3.3.1</version>
      </plugin>
    </plugins>
  </build>
</project>
""")
        self.maven(directory, "compile")
        jar = glob.glob(os.path.join(self.plugins, "example", "ddblockd",
                                     "ddblock", self.version, "*.jar"))
        return ["java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp",
                os.pathsep.join([os.path.join(directory, "target", "classes"),
                                 *jar]), main]


class Installed(test_clients.Language):
    """A language of tests/clients whose driver uses the installed package."""

    def __init__(self, package, drivers, has=test_clients.ALL):
        super().__init__(package.language, os.devnull, drivers, package.tools,
                         has=has)
        self.package = package
        self.drivers = drivers
        self.words = None
        self.failure = None

    def build(self):
        """Once, also if it fails: all scenarios ask for it."""
        with self.building:
            if self.failure is not None:
                raise self.failure
            if self.words is not None:
                return
            try:
                self.words = self.package.project("driver", "", self.drivers)
            except AssertionError as e:
                self.failure = e
                raise

    def command(self):
        return self.words


class Case(unittest.TestCase):
    """It needs what its @package is made with."""

    package = None

    def setUp(self):
        test_clients.need(self, self.package.language, self.package.missing())


class Built:
    """A Case of a @package, before anybody has it."""

    @classmethod
    def setUpClass(cls):
        cls.first = None if cls.package.missing() else cls.built("first")

    @classmethod
    def built(cls, name):
        directory = os.path.join(cls.package.directory, name)
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        return cls.package.build(directory)

    def test_contents(self):
        """Its sources are those of the tree, and all of them."""
        found = self.package.contents(self.first)
        self.assertEqual(sorted(found), sorted(self.package.sources()))
        for name, data in found.items():
            self.assertEqual(data, read(
                f"contrib/clients/{self.package.language}/{name}"), name)

    def test_same_again(self):
        again = self.built("again")
        self.assertEqual(sorted(self.first), sorted(again))
        for name, data in self.first.items():
            self.assertEqual(data, again[name], name)


class Used:
    """A Case of a @package that is installed: what its README shows, in a
    project that has nothing else; @once is how that language runs a line of
    it."""

    kind = None
    once = None

    def daemon(self):
        daemon = harness.Daemon()
        self.addCleanup(daemon.close)
        daemon.start()
        return daemon

    def say(self, name, program, daemon):
        words = self.package.project(name, program)
        return run(self.package.directory, *words,
                   DDBLOCK_SOCKET=daemon.socket)

    def test_readme(self):
        program, line = shown(self.package.language, self.kind)
        daemon = self.daemon()
        self.assertRegex(self.say("readme", program, daemon),
                         r"\Atoken [1-9]\d*\n\Z")
        for said in "this host", "NOT_DUE":
            self.assertEqual(self.say(
                "once", self.once.replace("LINE", line), daemon),
                f"{said}\n")
