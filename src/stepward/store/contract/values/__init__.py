"""Values that the parts of the contract take and return."""
