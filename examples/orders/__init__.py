"""Order processing: a shop whose orders are fulfilled by four remote services."""
