"""The programs of the comparison, one for each product; all keep to one contract, on the work of one application."""
