"""Columns of other types, with the values that are hardest for them."""

from typing import Any

from tests.dp.sql.stores import Store

from veil import dp
from veil.dp.sql.engine import select

# Of each engine: a type, values (as SQL has them), and a condition that two of them meet.
TYPES: dict[str, list[tuple[str, list[str], str]]] = {
    "duckdb": [
        ("BOOLEAN", ["true", "false", "true", "NULL"], "c"),
        ("DECIMAL(18, 3)", ["1.5", "2.25", "-999999999999999.999", "NULL"], "c > 0"),
        ("HUGEINT", ["17014118346046923173168730371588410", "5", "6", "0"], "c BETWEEN 5 AND 9"),
        ("UBIGINT", ["18446744073709551615", "5", "6", "0"], "c BETWEEN 5 AND 9"),
        ("FLOAT", ["'nan'", "'inf'", "1.5", "2"], "c < 3"),
        ("DATE", ["'infinity'", "'5000000-01-01'", "'2024-01-02'", "'2024-01-03'"],
         "c > '2024-01-01'"),
        ("TIMESTAMP", ["'-infinity'", "'0001-01-01'", "'2024-01-02 03:04:05.6'", "NULL"],
         "c >= '0001-01-01'"),
        ("TIMESTAMPTZ", ["'infinity'", "'2024-01-01 23:30:00-02'", "'2024-01-02 01:00:00+01'"],
         "c >= '2024-01-02'"),
        ("TIMESTAMP_NS", ["'2024-01-02 03:04:05.6'", "'2024-01-03'", "NULL", "NULL"],
         "c > '2024-01-01'"),
        ("ENUM('a', 'b')", ["'a'", "'b'", "'a'", "NULL"], "c = 'a'"),
        ("UUID", ["'00000000-0000-0000-0000-000000000001'"] * 2 + ["NULL"] * 2, "c LIKE '0%1'"),
    ],
    "sqlite": [
        ("BOOLEAN", ["1", "0", "1", "NULL"], "c"),
        ("NUMERIC", ["1.5", "2.25", "-1e300", "'text'"], "c > 0"),
        ("DECIMAL(9, 2)", ["9e999", "-9e999", "1.5", "2"], "c BETWEEN 1 AND 3"),
        ("DATE", ["'2024-01-02'", "'2024-01-03T10:00Z'", "17", "'spring'"], "c > '2024-01-01'"),
        ("VARCHAR(9) COLLATE NOCASE", ["'a'", "'A'", "'a'", "NULL"], "c = 'a'"),
    ],
    "postgresql": [
        ("boolean", ["true", "false", "true", "NULL"], "c"),
        ("numeric", ["1e400", "'NaN'", "-1e400", "1e-400"], "c < 1"),
        ("numeric(9, 2)", ["1.5", "2.25", "-3", "NULL"], "c > 0"),
        ("real", ["'nan'", "'inf'", "1.5", "2"], "c < 3"),
        ("date", ["'infinity'", "'5000000-01-01'", "'2024-01-02'", "'2024-01-03'"],
         "c > '2024-01-01'"),
        ("timestamp", ["'-infinity'", "'4000-01-01 BC'", "'0001-01-01'", "'2024-01-02 03:04:05'"],
         "c >= '0001-01-01'"),
        ("timestamptz", ["'infinity'", "'2024-01-01 23:30:00-02'", "'2024-01-02 01:00:00+01'"],
         "c >= '2024-01-02'"),
        ("char(5)", ["'a'", "'a    '", "'b'", "NULL"], "c = 'a'"),
        ("uuid", ["'00000000-0000-0000-0000-000000000001'"] * 2 + ["NULL"] * 2, "c LIKE '0%1'"),
        ("smallint", ["1", "2", "-3", "NULL"], "c > 0"),
        ("name_of_test", ["'a'", "'b'", "'a'", "NULL"], "c = 'a'"),
    ],
}  # fmt: skip


def test_types(store: Store) -> None:
    if store.engine == "postgresql":
        store.run("DROP TABLE IF EXISTS types10", "DROP TYPE IF EXISTS name_of_test",
                  "CREATE TYPE name_of_test AS ENUM ('a', 'b')")  # fmt: skip
    cases = TYPES[store.engine]
    statements = []
    for i, (kind, values, _) in enumerate(cases):
        rows = ", ".join(f"({value})" for value in values)
        statements += [f"DROP TABLE IF EXISTS types{i}", f"CREATE TABLE types{i} (c {kind})",
                       " ".join([f"INSERT INTO types{i} VALUES", rows])]  # fmt: skip
    store.run(*statements)
    tables: dict[str, Any] = {f"types{i}": {"columns": {"c": {}}} for i in range(len(cases))}
    for table, (kind, _, condition) in zip(tables.values(), cases, strict=True):
        if "'" not in condition and "BOOL" not in kind.upper():
            table["columns"]["c"] = {"bounds": [-10, 10]}
    rule = {"budget": {"ledger": "none", "epsilon": 1e13, "delta": 0.9}, "tables": tables}
    with dp.connect(store.url, rule, rng=1) as db:
        for name, (kind, values, condition) in zip(tables, cases, strict=True):
            found = db.sql(select(["COUNT(*)"], name, [condition]), 1e9).rows
            assert found == [(2,)], kind
            every = db.sql(select(["COUNT(c)", "COUNT(DISTINCT c)"], name), 1e9).rows[0]
            assert 2 <= int(str(every[0])) <= len(values)
            keys = db.sql(select(["c", "COUNT(*)"], name, by=["c"]), 1e9, 0.01).rows
            assert all(row[1] == 2 for row in keys)  # the threshold
            if "bounds" in tables[name]["columns"]["c"]:
                asked = select(["SUM(c)", "AVG(c)", "VAR(c)", "MEDIAN(c)"], name)
                assert all(abs(float(str(one))) < 500 for one in db.sql(asked, 1e9).rows[0])
    if store.engine == "postgresql":
        store.run("DROP TABLE types10", "DROP TYPE name_of_test")


# A type, a value of it that is read as NULL, and one that is not.
MISSING = {
    "duckdb": [("DOUBLE", "'nan'", "5"), ("TIMESTAMP", "'infinity'", "'2024-01-02'")],
    "sqlite": [("REAL", "'text'", "5"), ("INTEGER", "'text'", "5"),
               ("DATE", "17", "'2024-01-02'")],
    "postgresql": [("float8", "'nan'", "5"), ("numeric", "'NaN'", "5"),
                   ("date", "'infinity'", "'2024-01-02'")],
}  # fmt: skip


def test_a_value_that_is_read_as_null_is_missing_also_where_the_table_has_no_null(
    store: Store,
) -> None:
    for kind, odd, plain in MISSING[store.engine]:
        rows = ", ".join(f"({value})" for value in (odd, plain, plain))
        store.run("DROP TABLE IF EXISTS sure", f"CREATE TABLE sure (c {kind} NOT NULL)",
                  " ".join(["INSERT INTO sure VALUES", rows]))  # fmt: skip
        column = {} if "'" in plain else {"bounds": [0, 20]}
        rule = {
            "budget": {"ledger": "none", "epsilon": 1e13},
            "tables": {"sure": {"columns": {"c": column}}},
        }
        with dp.connect(store.url, rule, rng=1) as db:
            assert db.sql("SELECT COUNT(*), COUNT(c) FROM sure", 1e9).rows == [(3, 2)], kind
            if column:
                found = db.sql("SELECT AVG(c) FROM sure", 1e9).rows[0][0]
                assert abs(float(str(found)) - 5) < 1e-6


# Of each engine: types, spellings of one value, and the one form that is printed.
SPELLINGS: dict[str, list[tuple[str, list[str], object]]] = {
    "duckdb": [
        ("DECIMAL(18, 3)", ["1.50", "1.5", "1.500"], 1.5),
        ("DOUBLE", ["'-0.0'", "0.0", "0"], 0.0),
        ("TIMESTAMPTZ", ["'2024-01-01 23:30:00-02'", "'2024-01-02 01:30:00+00'",
                         "'2024-01-02 03:30:00.25+02'"], "2024-01-02 01:30:00"),
        ("VARCHAR COLLATE NOCASE", ["'a'"], "a"),
    ],
    "sqlite": [
        ("NUMERIC", ["'1.50'", "1.5", "'1.500'"], 1.5),
        ("DECIMAL(9, 2)", ["2", "2.0", "'2.00'"], 2.0),
        ("REAL", ["-0.0", "0", "0.0"], 0.0),
        ("BOOLEAN", ["1", "1.0", "true"], 1),
        ("TIMESTAMP", ["'2024-01-01 23:30:00-02:00'", "'2024-01-02T01:30:00Z'",
                       "'2024-01-02 01:30'"], "2024-01-02 01:30:00"),
    ],
    "postgresql": [
        ("numeric", ["1.50", "1.5", "1.500000"], 1.5),
        ("numeric", ["100", "1e2", "100.0"], 100.0),
        ("float8", ["'-0'", "0", "'0.0'"], 0.0),
        ("timestamptz", ["'2024-01-01 23:30:00-02'", "'2024-01-02 01:30:00+00'",
                         "'2024-01-02 03:30:00.25+02'"], "2024-01-02 01:30:00"),
        ("char(5)", ["'a'", "'a    '"], "a"),
    ],
}  # fmt: skip


def test_a_key_is_printed_in_one_form_whichever_row_comes_first(store: Store) -> None:
    cases = [
        (f"forms{i}_{j}", kind, [*forms[j:], *forms[:j]], form)
        for i, (kind, forms, form) in enumerate(SPELLINGS[store.engine])
        for j in range(len(forms))
    ]
    statements = []
    for name, kind, forms, _ in cases:
        rows = ", ".join([f"({forms[0]})", *[f"({form})" for form in forms] * 20])
        statements += [f"DROP TABLE IF EXISTS {name}", f"CREATE TABLE {name} (c {kind})",
                       " ".join([f"INSERT INTO {name} VALUES", rows])]  # fmt: skip
    store.run(*statements)
    tables: dict[str, Any] = {name: {"columns": {"c": {}}} for name, *_ in cases}
    rule = {"budget": {"ledger": "none", "epsilon": 1e13, "delta": 0.9}, "tables": tables}
    with dp.connect(store.url, rule, rng=1) as db:
        for name, kind, forms, form in cases:
            (row,) = db.sql(select(["c", "COUNT(*)"], name, by=["c"]), 1e9, 0.01).rows
            printed = (type(row[0]), repr(row[0]), row[1])
            assert printed == (type(form), repr(form), 1 + 20 * len(forms)), kind
