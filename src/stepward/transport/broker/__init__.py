"""The part that all broker transports share."""
