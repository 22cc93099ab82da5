"""The search of tasks: a language of conditions as data, and its SQL on each engine."""
