"""PostgreSQL: against a real server, started for the tests; and against some that cheat."""

import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence

import pytest
from tests.search.engines.database import running
from tests.search.engines.misbehaviour import POSTGRES_MISBEHAVIOUR, postgres
from tests.search.engines.recording import RecordingServer

import veil
from veil.core.errors import EngineError, ParameterError, install_hint
from veil.core.types import Released
from veil.search.engines import ENGINES
from veil.search.engines.network.postgres import Postgres

psycopg = pytest.importorskip("psycopg")

DOCUMENTS = [
    ("d1", "Tea", "Green tea is tea."),
    ("d2", "Coffee", "Coffee or tea for breakfast?"),
    ("d3", "Teapots", "A teapot; coffee is not made in it."),
    ("d4", None, "Rivers and lakes"),
    ("d5", "Lakes", "Rivers and lakes"),
    ("d6", "Harbour", None),
]


def released(*texts: str) -> list[Released]:
    return [veil.declassify(text) for text in texts]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as dsn:
        fill(dsn)
        yield dsn


def fill(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE docs (id text PRIMARY KEY, title text, text text)")
        connection.cursor().executemany("INSERT INTO docs VALUES (%s, %s, %s)", DOCUMENTS)
        connection.execute(
            "CREATE SCHEMA web;"
            'CREATE TABLE web."odd ""name" (number int, "the text" text, vector tsvector);'
            "INSERT INTO web.\"odd \"\"name\" VALUES (7, 'shown', to_tsvector('simple', 'lamps'));"
            "CREATE VIEW slow AS SELECT id, text || pg_sleep(300)::text AS text FROM docs;"
            "CREATE TABLE counted (count int);"
            "CREATE FUNCTION meddle(text) RETURNS text LANGUAGE plpgsql AS"
            " $$ BEGIN INSERT INTO counted VALUES (1); RETURN $1; END $$;"
            "CREATE VIEW meddling AS SELECT id, meddle(text) AS text FROM docs;"
            "CREATE ROLE stranger LOGIN;"
        )


def lists(engine: Postgres, queries: Sequence[str], k: int = 10) -> list[tuple[str, ...]]:
    answers = engine.search(released(*queries), k)
    return [answers.list(row) for row in range(len(answers))]


def test_documents_come_best_first_with_their_texts(server: str) -> None:
    engine = Postgres(dsn=server, table="docs", title="title")
    answers = engine.search(released("tea", "harbour", "the of"), 10)
    assert answers.list(0) == ("d1", "d2")
    assert answers.list(1) == ("d6",)
    assert answers.list(2) == ()  # nothing but stop words
    assert answers.gaps == ("", "", "")
    assert answers.scores[0, 0] > answers.scores[0, 1] > 0
    place = answers.items.index("d2")
    assert answers.titles[place] == "Coffee"
    assert answers.texts[place] == "Coffee or tea for breakfast?"
    assert answers.texts[answers.items.index("d6")] == ""


def test_ties_go_by_name_and_k_is_kept_to(server: str) -> None:
    engine = Postgres(dsn=server, table="docs")
    assert lists(engine, ["rivers lakes"]) == [("d4", "d5")]
    assert lists(engine, ["rivers lakes"], k=1) == [("d4",)]


def test_any_word_or_all_words(server: str) -> None:
    any_word = Postgres(dsn=server, table="docs")
    all_words = Postgres(dsn=server, table="docs", match="all")
    query = ["coffee tea", "teapot rivers"]
    assert [set(found) for found in lists(any_word, query)] == [
        {"d1", "d2", "d3"},
        {"d3", "d4", "d5"},
    ]
    assert lists(all_words, query) == [("d2",), ()]


def test_a_column_of_vectors_names_with_quotes_and_numbers_as_names(server: str) -> None:
    engine = Postgres(
        dsn=server,
        table='web.odd "name',
        id="number",
        text="the text",
        vector="vector",
        config="simple",
    )
    answers = engine.search(released("lamps", "shown"), 5)
    assert [answers.list(row) for row in range(2)] == [("7",), ()]
    assert answers.texts == ("shown",)


@pytest.mark.parametrize(
    "query",
    [
        "tea'; DROP TABLE docs; --",
        "tea' | 'x",
        "tea & ! | ( ) <-> :* coffee",
        "tea %s %(query)s {} $1",
        "tea \\' \" \\\\",
        "tea http://example.org/?a=1&b=2' & 'x",
        "tea it's o'clock & ''' & '''",
        "tea é 茶 \u202e",
    ],
)
@pytest.mark.parametrize("match", ["any", "all"])
def test_a_query_is_a_value_and_never_a_statement(server: str, query: str, match: str) -> None:
    engine = Postgres.load({"dsn": server, "table": "docs", "match": match, "attempts": 1})
    found = lists(engine, [query])
    if match == "any":
        assert "d1" in found[0]
    assert lists(Postgres(dsn=server, table="docs"), ["tea"]) == [("d1", "d2")]


INJECTION = 'docs"; DROP TABLE docs; --'


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"table": "none"}, r"has no such table: check the 'table' parameter \(42P01\)"),
        ({"table": INJECTION}, r"has no such table: .* \(42P01\)"),
        ({"table": "docs,docs"}, r"has no such table: .* \(42P01\)"),
        ({"id": INJECTION}, r"has no such column: .* \(42703\)"),
        ({"title": INJECTION}, r"has no such column: .* \(42703\)"),
        ({"text": "none"}, r"has no such column: .* \(42703\)"),
        ({"vector": INJECTION}, r"has no such column: .* \(42703\)"),
        ({"vector": "text"}, r"cannot search that column|refused the query"),
        ({"config": "klingon"}, r"has no such text search configuration: .* \(42704\)"),
        ({"config": "english'; DROP TABLE docs; --"}, r"\(42\w+\)"),
    ],
)
def test_names_are_names_and_never_statements(
    server: str, parameters: dict[str, object], sentence: str
) -> None:
    engine = Postgres.load({"dsn": server, "table": "docs", "attempts": 1} | parameters)
    with pytest.raises(EngineError, match=rf"^The database at 127.0.0.1 .*{sentence}") as raised:
        engine.search(released("lantern"), 3)
    assert "lantern" not in str(raised.value)
    assert lists(Postgres(dsn=server, table="docs"), ["tea"]) == [("d1", "d2")]


def test_a_statement_has_a_time_limit(server: str) -> None:
    engine = Postgres(dsn=server, table="slow", timeout=0.3, attempts=1)
    with pytest.raises(EngineError, match="did not finish in time|within 0.3 s"):
        engine.search(released("tea"), 3)


def test_nothing_can_be_written(server: str) -> None:
    engine = Postgres(dsn=server, table="meddling", attempts=1)
    with pytest.raises(EngineError, match=r"refused the query \(25006\)"):
        engine.search(released("tea"), 3)
    with psycopg.connect(server) as connection:
        assert connection.execute("SELECT count(*) FROM counted").fetchone() == (0,)


def test_a_user_without_rights_and_one_unknown(server: str) -> None:
    engine = Postgres(dsn=f"{server} user=stranger", table="docs", attempts=1)
    with pytest.raises(EngineError, match="does not allow this user to read the table"):
        engine.search(released("tea"), 3)
    engine = Postgres(dsn=f"{server} user=nobody_knows", table="docs", attempts=1)
    with pytest.raises(EngineError, match="rejects this user. Check the 'dsn' parameter"):
        engine.search(released("tea"), 3)


def test_a_server_that_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    engine = Postgres(dsn=f"host=127.0.0.1 port={port} user=u", table="docs", attempts=1)
    with pytest.raises(EngineError, match="^The database at 127.0.0.1 cannot be reached. Check"):
        engine.search(released("tea"), 3)


def test_some_variants_may_fail(server: str) -> None:
    engine = Postgres(dsn=server, table="docs", attempts=1)
    answers = engine.search(released("tea", " ", "coffee"), 3)
    assert [bool(gap) for gap in answers.gaps] == [False, True, False]


def test_one_connection_for_each_variant_that_tells_nothing_of_the_program() -> None:
    with RecordingServer(postgres([("7", "0.5", "t", "x")])) as own:
        dsn = f"host=127.0.0.1 port={own.port} user=u dbname=d sslmode=disable"
        engine = Postgres(dsn=dsn, table="docs", concurrency=2)
        answers = engine.search(released("marmalade", "lantern", "marmalade"), 3)
    assert [answers.list(row) for row in range(3)] == [("7",)] * 3
    assert own.connections == 2
    assert own.peak <= 2
    assert own.blob.count(b"application_name\0search\0") == 2
    assert own.blob.count(b"BEGIN READ ONLY") == 2
    assert [name for name in (b"python", b"psycopg", b"veil") if name in own.blob.lower()] == []


@pytest.mark.parametrize("fault", ["late silence", "late drip"])
def test_a_server_that_does_not_keep_to_the_time_limit_is_cut_off(fault: str) -> None:
    with RecordingServer(POSTGRES_MISBEHAVIOUR[fault]) as own:
        dsn = f"host=127.0.0.1 port={own.port} user=u dbname=d sslmode=disable"
        engine = Postgres(dsn=dsn, table="docs", timeout=0.3, attempts=1)
        with pytest.raises(EngineError, match="gave no answer within 0.3 s"):
            engine.search(released("tea"), 3)


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("dsn", "host=h password=sesame", "must not contain a password. Use PGPASSWORD"),
        ("dsn", "postgresql://me:sesame@h/db", "must not contain a password. Use PGPASSWORD"),
        ("dsn", "host=h sslpassword=sesame", "must not contain a password. Use PGPASSWORD"),
        ("dsn", "sesame", "must be a PostgreSQL connection string"),
        ("table", "a.b.c", "must be a name such as"),
        ("table", "", "must be a name such as"),
        ("table", "a\0", "must be a name such as"),
        ("id", "", "must be a name"),
        ("text", "x" * 64, "must be a name"),
        ("match", "some", "must be 'any' or 'all'"),
    ],
)
def test_parameters_out_of_range(field: str, value: object, wanted: str) -> None:
    with pytest.raises(
        ParameterError, match=f"^The '{field}' parameter of postgres {wanted}"
    ) as e:
        Postgres.load({"dsn": "host=h", "table": "docs"} | {field: value})
    assert "sesame" not in str(e.value)


def test_it_is_written_and_read_back() -> None:
    engine = Postgres(dsn="host=h dbname=d", table="a.b", match="all")
    assert ENGINES.parse(str(engine)) == engine


def test_without_psycopg_the_remedy_is_named() -> None:
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from veil.core.errors import MissingExtraError\n"
        "from veil.search.engines import ENGINES\n"
        "try: ENGINES.get('postgres')\n"
        "except MissingExtraError as error: print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert told.stdout.decode().strip() == (
        f"The postgres engine needs psycopg: {install_hint('postgres')}."
    )
