"""The pictures of the console in docs/images, taken of a store with a made-up past."""
