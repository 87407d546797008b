"""Studies: published results beside Comity's own, one file each; `comity reproduce` runs them."""
