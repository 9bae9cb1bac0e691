"""Files of points: CSV and other tables, GeoJSON, GeoParquet; frames of geopandas."""
