"""The timeline of a task: what its rows and its audit tell of when everything happened, and where that is drawn."""
