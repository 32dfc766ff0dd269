"""What this server accepts on its command line, read from the server itself."""

from trials.flags.catalogue import Flag, FlagCatalogue
from trials.flags.help_text import from_help
from trials.flags.source import CatalogueError, load_catalogue

__all__ = ["CatalogueError", "Flag", "FlagCatalogue", "from_help", "load_catalogue"]
