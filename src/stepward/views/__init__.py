"""What operators are told, in the words that the command line and the console share; each draws it in its own way."""
