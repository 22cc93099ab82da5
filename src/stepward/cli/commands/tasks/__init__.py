"""Commands about tasks: submit, list, show, complete and direct them."""
