"""Parts of the store by subject, from which the parts of the actors are composed: alerts, batches, retention."""
