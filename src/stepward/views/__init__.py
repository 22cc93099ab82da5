"""The texts and values for operators that the command line and the console share; each lays them out in its own way."""
