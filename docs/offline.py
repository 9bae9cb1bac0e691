"""Let pages that are opened from a folder search, too; mkdocs runs it (``hooks`` in mkdocs.yml).

There a page may load a script, but no JSON; worker.js has the other half.
"""

from pathlib import Path


def on_post_build(config):  # noqa: ANN001, ANN201 - mkdocs is not there where types are checked
    """Write the index of the search as a script beside the JSON."""
    folder = Path(config["site_dir"]) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")
