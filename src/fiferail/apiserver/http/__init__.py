"""The HTTP shell around the state machine."""
