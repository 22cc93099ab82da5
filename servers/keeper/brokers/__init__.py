"""The broker of the example: its servers, kept as by an operator's tools, and a look at what they carry."""
