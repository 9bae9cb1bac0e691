"""A mistake in the rules is named by file, rule and key, and nothing that stands there is told."""

from pathlib import Path

import pytest

from veil.core.errors import InputError, ParameterError, VeilError
from veil.proxy.gate import Gate, parse_rules, read_rules

GOOD = '[[rule]]\nname = "first"\nwords = ["canary"]\naction = "refuse"\n'


def test_all_that_a_rule_can_say() -> None:
    rules = parse_rules(
        'pii_model = "en_core_web_sm"\n'
        '[[rule]]\nname = " a b "\nwords = ["x"]\ntopics = ["y"]\nkinds = ["url", "symbol"]\n'
        'pii = ["US_SSN"]\npii_score = 1\nall = true\naction = "obfuscate"\n',
        "gate.toml",
    )
    (rule,) = rules.rule
    assert (rule.name, rule.action, rule.words, rule.topics) == (
        "a b",
        "obfuscate",
        ("x",),
        ("y",),
    )
    assert (rule.kinds, rule.pii, rule.pii_score) == (("url", "symbol"), ("US_SSN",), 1.0)
    assert rule.everything
    assert rules.pii_model == "en_core_web_sm"
    assert parse_rules(GOOD, "gate.toml").rule[0].pii_score == 0.4
    assert parse_rules("", "gate.toml").rule == ()


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('words = ["canary"]\naction = "refuse"', r"\[\[rule\]\] 2 of g.toml must have 'name'"),
        ('name = " "\nall = true\naction = "pass"', "'name' of .* a text that is not empty"),
        (f'name = "{"canary" * 11}"\nall = true\naction = "pass"', "'name' .* most 60 characters"),
        ('name = "ca\\u200bnary"\nall = true\naction = "pass"', "'name' .* visible characters"),
        (
            'name = "FIRST"\nall = true\naction = "pass"',
            r"'name' of \[\[rule\]\] 2 .* the name of \[\[rule\]\] 1",
        ),
        ('name = "b"\nwords = ["canary"]', r"\[\[rule\]\] 2 of g.toml must have 'action'"),
        ('name = "b"\nall = true\naction = "canary"', "'action' of .* 'obfuscate' or 'refuse'"),
        ('name = "b"\naction = "pass"', "at least one condition: words, topics, kinds, pii, all"),
        ('name = "b"\nwords = []\nall = false\naction = "pass"', "at least one condition"),
        ('name = "b"\nwords = "canary"\naction = "pass"', "'words' of .* must be a list"),
        ('name = "b"\nwords = ["a", 5]\naction = "pass"', "'words' number 2 of .* text in quotes"),
        ('name = "b"\nwords = ["a", " "]\naction = "pass"', "'words' number 2 of .* not empty"),
        (f'name = "b"\nwords = ["{"x" * 201}"]\naction = "pass"', "number 1 .* 200 characters"),
        ('name = "b"\nkinds = ["canary"]\naction = "pass"', "'kinds' number 1 .* 'number', 'em"),
        ('name = "b"\nkinds = ["word"]\naction = "refuse"', "'kinds' number 1 of"),
        ('name = "b"\npii = ["canary"]\naction = "refuse"', "'pii' number 1 .* such as PERSON"),
        ('name = "b"\npii = ["PERSON"]\naction = "pass"', "must not have 'pii' with action"),
        ('name = "b"\nall = true\npii_score = 0.5\naction = "pass"', "must have 'pii' if"),
        ('name = "b"\npii = ["A"]\npii_score = 0\naction = "refuse"', "'pii_score' .* than 0"),
        ('name = "b"\npii = ["A"]\npii_score = 2\naction = "refuse"', "'pii_score' .* most 1"),
        ('name = "b"\npii = ["A"]\npii_score = nan\naction = "refuse"', "'pii_score' of"),
        ('name = "b"\npii = ["A"]\npii_score = "canary"\naction = "refuse"', "be a number"),
        ('name = "b"\nall = "canary"\naction = "pass"', "'all' of .* must be true or false"),
        ('name = "b"\nword = ["canary"]\naction = "pass"', "did you mean 'words'"),
        (
            'name = "b"\ncanary = 1\nall = true\naction = "pass"',
            "Valid keys: name, action, words,",
        ),
        ('name = "b"\neverything = true\naction = "pass"', "has an unknown key"),
    ],
)
def test_a_rule_that_cannot_be_meant(rule: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said) as caught:
        parse_rules(f"{GOOD}[[rule]]\n{rule}\n", "g.toml")
    assert "g.toml" in str(caught.value)
    assert "canary" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('rule = "canary"', "'rule' of g.toml must be a list"),
        ('rule = ["canary"]', r"'rule' number 1 of g.toml must be a table, written as \[\[rule"),
        ('[rule]\nname = "canary"', "'rule' of g.toml must be a list"),
        ("[[rules]]\nname = 'canary'", "did you mean 'rule'"),
        ("pii_model = 5", "'pii_model' of g.toml must be a text in quotes"),
        ("a = canary", "g.toml must be a valid TOML file: look at line 1, column 5"),
        ("a = [", "g.toml must be a valid TOML file"),
        ("canary = 1\ncanary = 2", "g.toml must be a valid TOML file: look at its end"),
        ("a = " + "[" * 5_000, "g.toml must be a valid TOML file"),
        ("a = " + "9" * 5_000, "g.toml must be a valid TOML file"),
        (GOOD * 501, "'rule' of g.toml must be a list of at most 500"),
    ],
)
def test_a_file_that_holds_no_rules(text: str, said: str) -> None:
    with pytest.raises(VeilError, match=said) as caught:
        parse_rules(text, "g.toml")
    assert "canary" not in str(caught.value)


def test_a_word_without_a_letter_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    path.write_text('[[rule]]\nname = "a"\nwords = ["canary", "..."]\naction = "refuse"\n')
    with pytest.raises(ParameterError, match=r"'words' number 2 of \[\[rule\]\] 1 of gate.toml"):
        Gate.load(path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_rules(tmp_path / "none.toml")
    with pytest.raises(InputError, match="cannot be read"):
        read_rules(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'# caf\xe9\n[[rule]]\nname = "canary"')
    with pytest.raises(InputError, match="must be UTF-8"):
        read_rules(tmp_path / "latin.toml")
    (tmp_path / "long.toml").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(InputError, match="must be at most 1 MiB"):
        read_rules(tmp_path / "long.toml")


def test_files_of_other_systems_are_read(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert read_rules(path).rule[0].words == ("canary",)
