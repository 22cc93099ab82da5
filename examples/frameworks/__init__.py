"""One small service in each framework; docs/frameworks.md explains them."""
