"""The operators' part of a store that is made of several, one module for each subject."""
