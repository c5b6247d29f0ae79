"""The pytest plugin: the fixture `apiserver`."""
