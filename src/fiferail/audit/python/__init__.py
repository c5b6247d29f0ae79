"""The Python front end: ast in, sites and facts out."""
