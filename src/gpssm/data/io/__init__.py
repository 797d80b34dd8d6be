"""Files and tables in, data sets out."""
