"""One file per resource; what is shown is composed in the modules beside this package."""
