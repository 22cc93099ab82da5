"""The measures, a module for each subject; each runs in processes of its own."""
