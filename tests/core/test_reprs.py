"""A `repr` ends up in logs and notebooks: it is short, and quotes no data and no key."""

import dataclasses
import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import make_space

import veil
from veil.corpus.collection import Collection, Document, Documents
from veil.corpus.document_file import OpenedDocument
from veil.data.rows import Row
from veil.dp.local.reports import Desk
from veil.task.labelled import Labelled
from veil.text.files import FileJob
from veil.text.log import QueryLog
from veil.text.variants import VariantTable

ADA = "ada.lovelace@example.org"
MANY = tuple(f"{ADA} {number}" for number in range(2_000))
FACADES = ("dp", "tables", "places", "ratings", "sensitive", "cover", "dpia")
_DATA = re.compile(r"ndarray|Strings|\bbytes|Mapping\[str, str\]|'veil.*\.Table'")


def _objects() -> dict[str, object]:
    documents = Documents.of(Document(str(n), ADA, ADA) for n in range(9))
    names = veil.Pseudonyms()
    names.name("EMAIL", ADA)
    return {
        "Embeddings": make_space(3_000, 8),
        "Documents": documents,
        "Document": Document("1", ADA, ADA),
        "Collection": Collection("mails", documents, {"1": ADA}, {}, MANY),
        "Labelled": Labelled(MANY, MANY, "mails"),
        "QueryLog": QueryLog.of(MANY),
        "Pseudonyms": names,
        "Redactor": veil.Redactor(pseudonyms=names),
        "Row": Row(1, 1, [ADA]),
    }


@pytest.mark.parametrize("name", _objects())
def test_a_repr_is_short_and_quotes_nothing(name: str) -> None:
    instance = _objects()[name]
    shown = repr(instance)
    assert len(shown) < 200
    assert "ada" not in shown
    words = getattr(instance, "words", ())
    assert not any(word in shown for word in words)


def test_a_space_shows_its_name_and_size() -> None:
    assert re.fullmatch(
        r"Embeddings\(name='[^']*', size=3000, dim=8\)", repr(make_space(3_000, 8))
    )


def test_public_classes_that_hold_arrays_texts_or_keys_have_a_repr_of_their_own() -> None:
    objects = [getattr(veil, name) for name in veil.__all__]
    for facade in FACADES:
        package = importlib.import_module(f"veil.{facade}")
        objects += [getattr(package, name) for name in dir(package) if not name.startswith("_")]
    classes = [one for one in objects if isinstance(one, type)]
    classes += [Desk, FileJob, OpenedDocument, VariantTable]
    generated = []
    for cls in filter(dataclasses.is_dataclass, classes):
        fields = [f for f in dataclasses.fields(cls) if f.repr and _DATA.search(str(f.type))]
        if fields and hasattr(cls.__repr__, "__wrapped__"):  # as dataclasses make it
            generated.append(f"{cls.__module__}.{cls.__name__}")
    assert sorted(set(generated)) == []


@pytest.mark.parametrize("cls", [veil.Pseudonyms, veil.Embeddings, veil.Collection])
def test_a_path_may_be_a_text(tmp_path: Path, cls: type) -> None:
    target = str(tmp_path / "saved")
    if cls is veil.Pseudonyms:
        names = veil.Pseudonyms()
        names.name("EMAIL", ADA)
        names.save(target)
        assert veil.Pseudonyms.load(target).originals == names.originals
        with pytest.raises(veil.InputError, match="There is no map"):
            veil.Pseudonyms.load(str(tmp_path / "none"))
    elif cls is veil.Embeddings:
        space = make_space(9, 4)
        space.save(target)
        assert np.array_equal(veil.load_embeddings(target).vectors, space.vectors)
    else:
        documents = Documents.of([Document("1", "a", "b")])
        assert len(Collection("c", documents).save(target).documents) == 1
