"""One self-contained folder per table or figure of the paper; `common` has what they share."""
