"""What commands print: tables, times, JSON."""
