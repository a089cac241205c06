"""Tables in files and in memory: headers, columns and cells, before any of it is a record."""
