"""Flag lists of SGLang releases, one JSON file each."""
