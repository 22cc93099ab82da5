"""The database servers of the example: a primary and its standby, kept as an operator's tools would keep them."""
