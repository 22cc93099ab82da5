"""An order's row and its task, both or neither: one file for each kind of connection."""
