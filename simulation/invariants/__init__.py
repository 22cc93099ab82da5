"""What must hold on every commit, and once everything has come to rest."""
