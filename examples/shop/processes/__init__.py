"""The processes of the example: how each is started, kept and ended, in the demo, the shop and the tests."""
