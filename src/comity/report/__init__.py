"""Pages and pictures from results; never trains and never plays."""
