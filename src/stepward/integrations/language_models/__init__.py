"""What the integrations of language-model libraries share: tools with approval, token counts, turns, outcomes."""
