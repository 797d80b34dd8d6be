"""What several experiments share: settings, records on the disk, jobs, parts of pages."""
