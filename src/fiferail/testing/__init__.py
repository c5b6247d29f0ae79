"""What users import in tests: the fixture `apiserver` and the types it hands out."""
