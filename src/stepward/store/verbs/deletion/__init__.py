"""Verbs that delete: by age, on demand, in archives, and large payloads that are left over."""
