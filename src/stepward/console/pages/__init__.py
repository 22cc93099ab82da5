"""The pages, a module each: what is read of the store for it, and the values of its template."""
