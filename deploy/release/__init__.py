"""The parts of a release: packages, the list of their dependencies, checksums and a signature."""
