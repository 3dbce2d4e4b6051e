"""The cache of compiled rules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from logdiff.engine import compile as compiler
from logdiff.engine import ruleset
from logdiff.engine.ruleset import RuleSet, load_cached, load_user
from logdiff.errors import RuleError
from tests.engine.samples import RULE, SIGNALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.engine.samples import MakeFile


class Rules:
    """A directory of rules, and how often it was compiled."""

    def __init__(self, directory: Path, user_cache: Path) -> None:
        self.directory = directory
        self.user_cache = user_cache
        self.compiled = 0

    @property
    def beside(self) -> Path:
        (path,) = (self.directory / "__pycache__").iterdir()
        return path

    def load(self) -> RuleSet:
        return load_cached(str(self.directory))


@pytest.fixture
def rules(make_file: MakeFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rules:
    make_file(SIGNALS, "demo.yaml", "signals")
    path = Path(make_file(RULE))
    rules = Rules(path.parent.parent, tmp_path / "user")
    monkeypatch.setenv("XDG_CACHE_HOME", str(rules.user_cache))
    load = compiler.load

    def counting_load(files: Sequence[str], known: RuleSet | None = None) -> RuleSet:
        rules.compiled += 1
        return load(files, known)

    monkeypatch.setattr(compiler, "load", counting_load)
    return rules


def whole(rules: RuleSet) -> RuleSet:
    """The same rules, what they say included."""
    return rules._replace(rules=[rule._replace(said=rule.wording) for rule in rules.rules])


def test_round_trip(rules: Rules) -> None:
    first, second = rules.load(), rules.load()
    assert rules.compiled == 1
    assert isinstance(second.rules[0].said, bytes)
    assert whole(second) == first
    assert [signal.id for signal in second.signals] == ["weights-loaded"]
    assert second.rules[0].wording.fixes[0].kind == "config"
    assert not rules.user_cache.exists()


def test_a_changed_file_is_compiled_again(rules: Rules, make_file: MakeFile) -> None:
    rules.load()
    make_file(RULE.replace("scope: pair", "scope: one-run"))
    assert rules.load().rules[0].scope == "one-run"
    assert rules.compiled == 2


def test_a_file_that_only_became_newer_is_compiled_again(rules: Rules) -> None:
    rules.load()
    path = rules.directory / "model" / "weights-differ.yaml"
    os.utime(path, ns=(1, 1))
    rules.load()
    assert rules.compiled == 2


def test_an_added_and_a_removed_file_are_noticed(rules: Rules, make_file: MakeFile) -> None:
    rules.load()
    other = make_file(RULE.replace("weights-differ", "other"), "other.yaml", "kernel")
    assert [rule.id for rule in rules.load().rules] == ["other", "weights-differ"]
    os.unlink(other)
    assert [rule.id for rule in rules.load().rules] == ["weights-differ"]
    assert rules.compiled == 3


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: content + b"x",
        lambda content: b"x" + content[1:],
        lambda content: content[:-40] + bytes([content[-40] ^ 1]) + content[-39:],
        lambda content: content[:18] + bytes(8) + content[26:],
        lambda _: b"not a cache",
    ],
)
def test_a_damaged_cache_is_replaced(rules: Rules, damage: object) -> None:
    assert callable(damage)
    expected = rules.load()
    whole = rules.beside.read_bytes()
    rules.beside.write_bytes(damage(whole))
    assert rules.load() == expected
    assert rules.compiled == 2
    assert rules.beside.read_bytes() == whole


def test_a_cache_of_another_version_is_replaced(
    rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules.load()
    monkeypatch.setattr("logdiff.version.__version__", "0.0.0")
    rules.load()
    assert rules.compiled == 2


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_cache_that_others_can_write_is_not_trusted(rules: Rules) -> None:
    rules.load()
    rules.beside.chmod(0o666)
    rules.load()
    assert rules.compiled == 2


def block(path: Path) -> None:
    """Make a directory impossible to create; unlike permissions, this stops root as well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("in the way")


def test_where_rules_cannot_be_written_the_users_cache_serves(rules: Rules) -> None:
    block(rules.directory / "__pycache__")
    assert whole(rules.load()) == whole(rules.load())
    assert rules.compiled == 1
    assert len(list((rules.user_cache / "logdiff").iterdir())) == 1


def test_where_nothing_can_be_written_rules_are_compiled_each_time(rules: Rules) -> None:
    block(rules.directory / "__pycache__")
    block(rules.user_cache)
    assert rules.load() == rules.load()
    assert rules.compiled == 2


def test_no_temporary_file_is_left(rules: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: str, target: str) -> None:
        raise PermissionError(source, target)

    monkeypatch.setattr("os.replace", fail)
    rules.load()
    assert list((rules.directory / "__pycache__").iterdir()) == []


def test_the_users_cache_keeps_installations_apart() -> None:
    assert ruleset._cache_places("/a")[1] != ruleset._cache_places("/b")[1]


def test_a_relative_cache_directory_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert ruleset._user_cache() == os.path.join(os.path.expanduser("~"), ".cache")


def test_a_wrong_rule_is_an_error_and_not_cached(rules: Rules, make_file: MakeFile) -> None:
    make_file(RULE.replace("likely", "lik"))
    for _ in range(2):
        with pytest.raises(RuleError, match="undefined name 'lik'"):
            rules.load()
    assert rules.compiled == 2


def test_user_rules_come_without_the_built_in_ones(
    rules: Rules, monkeypatch: pytest.MonkeyPatch, make_file: MakeFile
) -> None:
    monkeypatch.setattr(ruleset, "load_builtin", rules.load)
    own = make_file(
        RULE.replace("weights-differ", "mine") + "causes: [weights-differ]\n", "mine.yaml", "../own"
    )
    assert [rule.id for rule in load_user([own]).rules] == ["mine"]
    with pytest.raises(RuleError, match="the id 'weights-differ' is taken: built in"):
        load_user([make_file(RULE, area="../own")])


def test_merged(rules: Rules) -> None:
    one = rules.load()
    both = one.merged(RuleSet([], one.rules))
    assert (len(both.signals), len(both.rules)) == (1, 2)


def test_a_warm_start_imports_nothing_heavy(rules: Rules) -> None:
    rules.load()
    script = (
        "import sys; from logdiff.engine import ruleset, runtime;"
        f"r = ruleset.load_cached({str(rules.directory)!r}); assert r.rules and r.signals;"
        "print(*sorted(sys.modules))"
    )
    command = [sys.executable, "-c", script]
    loaded = set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    heavy = {"ast", "dataclasses", "inspect", "jinja2", "json", "pathlib", "pydantic", "yaml"}
    assert loaded & heavy == set()
    own = {name for name in loaded if name.startswith("logdiff")}
    assert own == {
        "logdiff", "logdiff.engine", "logdiff.engine.functions", "logdiff.engine.ruleset",
        "logdiff.engine.runtime", "logdiff.engine.values", "logdiff.model", "logdiff.patterns",
        "logdiff.tuples", "logdiff.version", "logdiff.words",
    }  # fmt: skip
