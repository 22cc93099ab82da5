"""A support desk with a language model: its turns and tool calls are steps, which a killed process does not repeat."""
