"""Shell scripts: what they would do, with the places in the file that say so."""
