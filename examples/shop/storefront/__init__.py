"""The storefront: where customers browse, order, and watch their orders; it posts messages and hears status events."""
