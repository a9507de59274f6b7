"""Types, schemas, errors and file handling: imported by everything, importing only each other."""
