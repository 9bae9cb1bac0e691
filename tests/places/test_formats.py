"""Files of points: what is read, what is refused, and that nothing else is written."""

import csv
import gzip
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.places.snow import FILES, needs_snow

from veil import places
from veil.core.errors import InputError
from veil.places.crs import LONLAT

KINDS = ["csv", "tsv", "geojson", "parquet"]


def sample(crs: str | None = None) -> places.Points:
    """Return points with columns beside them."""
    rng = np.random.default_rng(1)
    low, high = ([-170, -60], [170, 60]) if crs == LONLAT else ([0, 0], [9_000, 9_000])
    return places.Points(
        rng.uniform(low, high, (50, 2)),
        crs,
        ids=np.array([f"p{i}" for i in range(50)]),
        columns={"id": [f"p{i}" for i in range(50)], "note": [f"secret {i}" for i in range(50)]},
    )


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("crs", [None, LONLAT, "EPSG:32633"])
def test_a_release_is_read_back(kind: str, crs: str | None, tmp_path: Path) -> None:
    points = sample(crs) if crs != "EPSG:32633" else places.Points(sample().xy + 5e5, crs)
    release = places.protect(points, "disk(radius=300)")
    places.save(release, tmp_path / f"out.{kind}")
    table = kind in ("csv", "tsv")
    result = places.load(tmp_path / f"out.{kind}", crs=crs if table else None)
    expected = LONLAT if kind == "geojson" and crs is not None else crs
    assert result.crs == expected
    if expected == crs:
        gap = np.abs(np.sort(result.xy, axis=0) - np.sort(release.xy[0], axis=0))
        assert gap.max() <= 5.1e-8
    assert result.columns == {}
    assert "secret" not in (tmp_path / f"out.{kind}").read_bytes().decode("latin-1")


@pytest.mark.parametrize("kind", KINDS)
def test_order_is_no_link_unless_an_id_is_kept(kind: str, tmp_path: Path) -> None:
    release = places.protect(sample(), "disk(radius=300)", size=2)
    target = tmp_path / f"out.{kind}"
    places.save(release, target)
    shuffled = places.load(target).xy.reshape(2, 50, 2)
    for one, other in zip(shuffled, release.xy, strict=True):
        assert (np.abs(one - other).max(axis=1) < 1e-6).mean() < 0.5
        assert np.sort(one[:, 0]) == pytest.approx(np.sort(other[:, 0]))
    places.save(release, target, keep=["id"])
    kept = places.load(target)
    assert kept.xy.reshape(2, 50, 2) == pytest.approx(release.xy, abs=1e-6)
    assert list(kept.columns) == ["release", "id"]
    assert kept.columns["id"][:51] == [*release.columns["id"], "p0"]


def test_a_fresh_order_every_time_and_a_seeded_one_on_request(tmp_path: Path) -> None:
    release = places.protect(sample(), "disk(radius=300)", rng=1)

    def order(**given: Any) -> str:  # noqa: ANN401
        places.save(release, tmp_path / "out.csv", **given)
        return (tmp_path / "out.csv").read_text()

    assert order() != order()
    assert order(rng=1) == order(rng=1) != order(rng=2)
    assert order(keep=["note"]) != order(keep=["note"])  # a note is no id
    assert order(keep=["id"]) == order(keep=["id"])


def test_a_column_that_is_named_as_ids_is_one(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i},c{i},n{i}\n" for i in range(60))
    (tmp_path / "in.csv").write_text("x,y,case,note\n" + rows)
    for ids, kept in (("case", True), (None, False)):
        points = places.load(tmp_path / "in.csv", ids=ids)
        places.save(places.protect(points, "disk(radius=3)"), tmp_path / "out.csv", ["case"])
        order = [row[2] for row in rows_of(tmp_path / "out.csv")[1:]]
        assert (order == [f"c{i}" for i in range(60)]) == kept
    (tmp_path / "in.csv").write_text("x,y,Id\n" + "".join(f"{i},{i},0\n" for i in range(60)))
    release = places.protect(places.load(tmp_path / "in.csv"), "translate(dx=1, dy=0)")
    places.save(release, tmp_path / "out.csv", ["Id"])  # tells nothing apart
    assert [row[0] for row in rows_of(tmp_path / "out.csv")[1:]] != [
        f"{i}.0" for i in range(1, 61)
    ]


def test_what_is_kept_stays_with_its_row(tmp_path: Path) -> None:
    release = places.protect(sample(), "disk(radius=300)")
    for keep in (["note"], ["id", "note"]):
        places.save(release, tmp_path / "out.csv", keep=keep)
        head, *rows = rows_of(tmp_path / "out.csv")
        assert head == ["x", "y", *keep]
        for row in rows:
            number = int(row[-1].removeprefix("secret "))
            assert float(row[0]) == pytest.approx(release.xy[0, number, 0], abs=1e-6)


@pytest.mark.parametrize("name", ["x", "Y", "lon", "Latitude", "geometry", "release", "nothing"])
def test_no_place_is_kept_and_nothing_unknown(name: str, tmp_path: Path) -> None:
    points = places.Points(
        np.zeros((2, 2)), columns={"lon": [1, 2], "Y": [3, 4], "geometry": [5, 6]}
    )
    release = places.protect(points, "disk(radius=3)")
    with pytest.raises(InputError, match=f"'{name}'"):
        places.save(release, tmp_path / "out.csv", keep=[name])
    assert not (tmp_path / "out.csv").exists()


def test_only_a_release_is_written(tmp_path: Path) -> None:
    points: Any = sample()
    with pytest.raises(InputError, match="Only a release"):
        places.save(points, tmp_path / "out.csv")
    release = places.protect(points, "disk(radius=3)")
    with pytest.raises(InputError, match="must end in one of"):
        places.save(release, tmp_path / "out.xlsx")
    with pytest.raises(InputError, match="does not exist"):
        places.save(release, tmp_path / "none" / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = places.protect(sample(), "disk(radius=3)")

    def broken(*_: object) -> None:
        raise OSError("full")

    monkeypatch.setattr("veil.places.formats.files._write_table", broken)
    with pytest.raises(OSError, match="full"):
        places.save(release, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_geojson_is_that_of_the_standard(tmp_path: Path) -> None:
    release = places.protect(sample(LONLAT), "disk(radius=300)")
    places.save(release, tmp_path / "out.geojson", keep=["id"])
    document = json.loads((tmp_path / "out.geojson").read_text())
    assert set(document) == {"type", "features"}  # no crs member
    for number, feature in enumerate(document["features"]):
        assert set(feature) == {"type", "geometry", "properties"}
        assert feature["properties"] == {"id": f"p{number}"}
        lon, lat = feature["geometry"]["coordinates"]
        assert (round(lon, 7), round(lat, 7)) == (lon, lat)
    plane = places.protect(sample(), "disk(radius=300)")
    places.save(plane, tmp_path / "plane.geojson")
    assert places.load(tmp_path / "plane.geojson").crs is None


def test_geoparquet_is_that_of_the_standard(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    release = places.protect(sample(LONLAT), "disk(radius=300)")
    places.save(release, tmp_path / "out.parquet", keep=["note"])
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["geometry", "note"]
    geo = json.loads(table.schema.metadata[b"geo"])
    about = geo["columns"]["geometry"]
    assert (geo["version"], geo["primary_column"]) == ("1.1.0", "geometry")
    assert (about["encoding"], about["geometry_types"]) == ("WKB", ["Point"])
    assert "crs" not in about  # longitude and latitude by default
    places_of = np.array(
        [struct.unpack("<bIdd", blob)[2:] for blob in table["geometry"].to_pylist()]
    )
    assert all(len(blob) == 21 for blob in table["geometry"].to_pylist())
    assert about["bbox"] == [*places_of.min(axis=0), *places_of.max(axis=0)]
    assert np.sort(places_of[:, 0]) == pytest.approx(np.sort(release.xy[0, :, 0]), abs=1e-7)
    original = sample(LONLAT).xy
    assert about["bbox"] != [*original.min(axis=0), *original.max(axis=0)]


def test_geopandas_is_accepted_and_reads_what_is_written(tmp_path: Path) -> None:
    geopandas = pytest.importorskip("geopandas")
    frame = geopandas.GeoDataFrame(
        {"id": ["a", "b"]}, geometry=geopandas.points_from_xy([1, 2], [50, 51]), crs=4326
    )
    release = places.protect(frame, "disk(radius=300)")
    assert release.crs == LONLAT
    assert places.load(frame).xy.tolist() == [[1, 50], [2, 51]]
    places.save(release, tmp_path / "out.parquet", keep=["id"])
    read = geopandas.read_parquet(tmp_path / "out.parquet")
    assert read.crs.to_authority() == ("OGC", "CRS84")
    assert places.load(read).crs == LONLAT
    assert np.column_stack([read.geometry.x, read.geometry.y]) == pytest.approx(release.xy[0])
    lines = geopandas.GeoDataFrame(geometry=[frame.geometry[0], frame.geometry[1].buffer(1)])
    with pytest.raises(InputError, match="^Row 2 must be a point"):
        places.load(lines)


@pytest.mark.parametrize(
    ("head", "columns", "crs"),
    [
        ("x,y", (0, 1), None),
        ("id,longitude,latitude", (1, 2), LONLAT),
        ("Lat,LNG,note", (1, 0), LONLAT),
        ("x,y,X,Y", (0, 1), None),
        ("Y,X", (1, 0), None),
    ],
)
def test_columns_are_found_by_name(
    head: str, columns: tuple[int, int], crs: str | None, tmp_path: Path
) -> None:
    width = len(head.split(","))
    (tmp_path / "in.csv").write_text(head + "\n" + ",".join(str(10 + i) for i in range(width)))
    result = places.load(tmp_path / "in.csv")
    assert result.xy.tolist() == [[10 + columns[0], 10 + columns[1]]]
    assert result.crs == crs
    assert not {name.lower() for name in result.columns} & {"x", "y", "lat", "lng"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x,y,lon,lat\n1,2,3,4\n", "2 columns that may be x"),
        ("lon,longitude,lat\n1,2,3\n", "2 columns that may be x"),
        ("x,lat\n1,2\n", "belong together"),
        ("a,b\n1,2\n", "no column of coordinates"),
        ("x,y\n", "has no points"),
        ("", "has no points"),
        ("x,y\n1.25,2\n3,\n7.75,north\n", "Rows 2, 3 of in.csv must have two numbers"),
        ("x,y\n1.25,nan\n", "Row 1 must be finite"),
        ("x,y\n1,2\n1.25\n", r"^Row 2 \(line 3\) of in.csv has 1 columns"),
        ("x,y\n1,2\n1.25,nan\n", "^Row 2 must be finite"),
        ("x,y\n1,2\n1.25,north\n", "^Row 2 of in.csv must have two numbers"),
        ('x,y\n1,2\n1.25,"north\n', "Cannot read in.csv after row 1"),
        ("x,x,y\n1.25,2,3\n", "two columns with the same name"),
        ("id,x,y\na,1.25,2\na,1.25,2\n", "Row 2 must not repeat the id"),
        ("lon,lat\n45.25,120.5\n", "swapped"),
        ("x,y,weight\n1.25,2,1\n3,4,-7.75\n", "^Row 2 must have a weight"),
        ("x,y,weight\n1.25,2,0\n3,4,0\n", "At least one weight must be above 0"),
        ("x,y,Population\n1.25,2,1\n3,4,north\n", "^Row 2 must have a weight"),
        ("x,y,time\n1.25,2,2020-01-01\n3,4,north\n", "^Row 2 must have a time"),
        ("x,y,user\n1.25,2,a\n3,4,\n", "^Row 2 must have a user"),
        ("x,y,User,USER\n1.25,2,a,b\n", "2 columns called 'user'"),
    ],
)
def test_bad_tables_are_refused_without_a_coordinate(
    text: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text(text)
    with pytest.raises(InputError, match=sentence) as caught:
        places.load(tmp_path / "in.csv")
    assert not any(value in str(caught.value) for value in ("1.25", "7.75", "north", "120.5"))


@pytest.mark.parametrize("kind", ["csv", "geojson"])
@pytest.mark.parametrize("columns", [None, ()])
def test_a_trace_is_found_whatever_the_case(
    kind: str, columns: tuple[str, ...] | None, tmp_path: Path
) -> None:
    """Else its fixes would count as points of different people."""
    path = tmp_path / f"in.{kind}"
    if kind == "csv":
        path.write_text("x,y,User,TIME,Weight\n1,2,a,0,3\n5,6,a,60,4\n")
    else:
        features = [
            {
                "geometry": {"type": "Point", "coordinates": [1, row]},
                "properties": {"User": "a", "TIME": 60 * row, "Weight": 3 + row},
            }
            for row in range(2)
        ]
        path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    result = places.load(path, columns=columns)
    assert result.users is not None
    assert result.times is not None
    assert result.weights is not None
    assert result.users.tolist() == ["a", "a"]
    assert result.times.tolist() == [0, 60]
    assert result.weights.tolist() == [3, 4]
    assert places.protect(result, "laplace(epsilon=0.01)").cost.unit == "user"


def test_columns_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("x,y,E,N,who,Count\n1,2,3,4,a,0\n5,6,7,8,b,2\n")
    result = places.load(tmp_path / "in.csv", x="E", y="N", users="who", weights="Count")
    assert result.xy.tolist() == [[3, 4], [7, 8]]
    assert result.users is not None
    assert result.weights is not None
    assert (result.users.tolist(), result.weights.tolist()) == (["a", "b"], [0, 2])
    few = places.load(tmp_path / "in.csv", x="E", y="N", columns=["Count"])
    assert few.columns == {"Count": ["0", "2"]}
    with pytest.raises(InputError, match="one column 'Q'"):
        places.load(tmp_path / "in.csv", x="Q", y="N")
    with pytest.raises(InputError, match="no column 'Q'"):
        places.load(tmp_path / "in.csv", x="E", y="N", weights="Q")


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ("{", "must be valid GeoJSON"),
        (
            '{"type": "FeatureCollection", "features": [{"geometry": {"type": "Po',
            "must be valid GeoJSON",
        ),
        ('{"type": "FeatureCollection", "features": []} {}', "must be valid GeoJSON"),
        ('{"type": "FeatureCollection", "features": [], "features": []}', "must be valid GeoJSON"),
        ('{"type": "FeatureCollection", "features": [1, 2]}', "Rows 1, 2 of .* a Point"),
        ('{"type": "FeatureCollection", "features": {}}', "has no points"),
        ('{"type": "Feature", "features": []}', "must be a FeatureCollection"),
        ('{"type" "FeatureCollection"}', "must be valid GeoJSON"),
        ("[" * 100_000, "must be a FeatureCollection"),
        ('{"a": ' + "[" * 100_000, "must be valid GeoJSON"),
        ("[]", "must be a FeatureCollection"),
        ('{"type": "FeatureCollection", "features": []}', "has no points"),
        ('{"type": "FeatureCollection", "features": [{"geometry": null}]}', "Row 1 of .* a Point"),
    ],
)
def test_bad_geojson_is_refused(document: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "in.geojson").write_text(document)
    with pytest.raises(InputError, match=sentence):
        places.load(tmp_path / "in.geojson")


@pytest.mark.parametrize("chunk", [1, 7, 2**20])
def test_geojson_is_read_in_pieces(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veil.places.formats.geojson._CHUNK", chunk)
    features = [
        {"geometry": {"type": "Point", "coordinates": [i, 0.5]}, "properties": {f"p{i % 2}": i}}
        for i in range(20)
    ]
    document = {"count": 1234, "features": features, "veil": {"coordinates": "planar metres"}}
    for indent in (None, 3):
        text = json.dumps(
            document | {"type": "FeatureCollection", "more": [1, "é"]}, indent=indent
        )
        (tmp_path / "in.geojson").write_text("\ufeff" + text + " \n", encoding="utf-8")
        result = places.load(tmp_path / "in.geojson")
        assert result.crs is None  # said after the features
        assert result.xy.tolist() == [[i, 0.5] for i in range(20)]
        assert result.columns["p0"] == [i if i % 2 == 0 else None for i in range(20)]
    (tmp_path / "in.geojson.gz").write_bytes(gzip.compress(text.encode()))
    assert len(places.load(tmp_path / "in.geojson.gz", columns=[])) == 20


def test_a_geometry_that_is_no_point_is_refused_by_its_row(tmp_path: Path) -> None:
    point = {"geometry": {"type": "Point", "coordinates": [1.25, 2, 99]}, "properties": None}
    line = {"geometry": {"type": "LineString", "coordinates": [[1.25, 2], [3, 4]]}}
    words = {"geometry": {"type": "Point", "coordinates": ["1.25", "2"]}}

    def write(*features: object) -> Path:
        document = {"type": "FeatureCollection", "features": features}
        (tmp_path / "in.geojson").write_text(json.dumps(document))
        return tmp_path / "in.geojson"

    assert places.load(write(point)).xy.tolist() == [[1.25, 2]]  # a height is left out
    with pytest.raises(InputError, match="^Rows 2, 3 of in.geojson must be a Point") as caught:
        places.load(write(point, line, words))
    assert "1.25" not in str(caught.value)


def test_an_old_crs_member_is_heeded(tmp_path: Path) -> None:
    feature = {"geometry": {"type": "Point", "coordinates": [-15540, 6712904]}, "properties": {}}
    document: dict[str, Any] = {"type": "FeatureCollection", "features": [feature]}
    told = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}
    (tmp_path / "in.geojson").write_text(json.dumps(document | {"crs": told}))
    assert places.load(tmp_path / "in.geojson").crs == "EPSG:3857"
    (tmp_path / "in.geojson").write_text(json.dumps(document))
    with pytest.raises(InputError, match="Row 1 must have a latitude"):
        places.load(tmp_path / "in.geojson")
    (tmp_path / "in.geojson").write_text(json.dumps(document | {"crs": {"type": "link"}}))
    with pytest.raises(InputError, match="unknown coordinate system"):
        places.load(tmp_path / "in.geojson")


def test_bad_parquet_is_refused(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "in.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match="damaged"):
        places.load(tmp_path / "in.parquet")
    release = places.protect(sample(), "disk(radius=3)")
    places.save(release, tmp_path / "in.parquet")
    table = parquet.read_table(tmp_path / "in.parquet")
    blobs = [*table["geometry"].to_pylist()[:-1], b"\x01\x02\x00\x00\x00" + bytes(16)]
    bad = arrow.table([blobs], names=["geometry"]).replace_schema_metadata(table.schema.metadata)
    parquet.write_table(bad, tmp_path / "in.parquet")
    with pytest.raises(InputError, match="^Row 50 of in.parquet must be a point"):
        places.load(tmp_path / "in.parquet")
    plain = arrow.table({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    parquet.write_table(plain, tmp_path / "in.parquet")
    assert places.load(tmp_path / "in.parquet").xy.tolist() == [[1, 3], [2, 4]]


@needs_snow
def test_the_data_at_hand_is_read() -> None:
    wide = places.load(FILES / "cities15000.csv.gz")
    assert wide.crs == LONLAT
    assert wide.weights is not None
    trace = places.load(FILES / "geolife-30s.csv.gz")
    assert trace.users is not None
    assert trace.times is not None
    assert len(np.unique(trace.users)) == 11
    snow = places.load(FILES / "snow-deaths.csv", crs="EPSG:3857")
    assert (len(snow), snow.crs, snow.ids) == (324, "EPSG:3857", None)
    for name in ("burkitt", "juvenile", "baltimore-sales"):
        assert places.load(FILES / f"{name}.csv").crs is None
    for name in ("snow-deaths", "crimes"):  # Web Mercator, and feet
        with pytest.raises(InputError, match=f"{name}.csv has coordinates of 100,000 or more"):
            places.load(FILES / f"{name}.csv")


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "geojson"])
def test_large_coordinates_are_no_metres_unless_it_is_said(kind: str, tmp_path: Path) -> None:
    points = places.Points(np.array([[-15540.0, 6712904.0], [-15500.0, 6712000.0]]))
    path = tmp_path / f"out.{kind}"
    places.save(places.protect(points, "laplace(epsilon=1)"), path)
    if kind == "geojson":  # it says that it is a plane
        assert places.load(path).crs is None
        return
    with pytest.raises(InputError, match=f"out.{kind} has coordinates of 100,000") as caught:
        places.load(path)
    assert "67129" not in str(caught.value)
    assert places.load(path, crs="metres").crs is None
    assert places.load(path, crs="Meters").xy.max() > 6e6
    assert places.load(path, crs="EPSG:3857").crs == "EPSG:3857"


def test_a_word_of_metres_is_no_code_of_what_says_otherwise(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("lon,lat\n1,2\n")
    assert places.load(tmp_path / "in.csv", crs="metres").crs == LONLAT
    (tmp_path / "in.csv").write_text("x,y\n99999.9,-99999.9\n")
    assert places.load(tmp_path / "in.csv").crs is None


def test_a_mercator_map_is_moved_in_true_metres(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("x,y\n" + "-15540,6712904\n" * 50)
    points = places.load(tmp_path / "in.csv", crs="EPSG:3857")
    moved = places.protect(points, "fixed(radius=100)").xy[0] - points.xy
    assert np.hypot(*moved.T) == pytest.approx(160.7, abs=0.5)  # units, of which one is 0.62 m


def test_a_frame_without_a_code_is_a_plane_if_it_is_small(tmp_path: Path) -> None:
    geopandas = pytest.importorskip("geopandas")
    frame = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy([-15540], [6712904]))
    with pytest.raises(InputError, match="The frame has coordinates of 100,000"):
        places.load(frame)
    with pytest.raises(InputError, match="The frame has coordinates of 100,000"):
        places.protect(frame, "disk(radius=5)")
    assert places.load(frame, crs="metres").crs is None
