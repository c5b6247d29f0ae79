"""Structured merge: who owns which field, and what server-side apply makes of an object. See `operations`."""
