"""The pages, one module each: the reads of the store, and the values of the template."""
