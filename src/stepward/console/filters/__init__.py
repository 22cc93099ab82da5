"""Filters of the console's templates: values as text and markup of a page."""
