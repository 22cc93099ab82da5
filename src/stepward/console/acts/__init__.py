"""The acts of forms: each checks the form's token, and the version of the page on which it was decided."""
