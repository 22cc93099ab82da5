"""What all broker transports share."""
