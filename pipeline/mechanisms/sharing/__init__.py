"""What every command that shares a corpus needs of one: its files, rows, digest, licences, figures."""
