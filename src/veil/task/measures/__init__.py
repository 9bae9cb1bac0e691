"""What is measured of a task; one file each."""
