"""Teams whose seats talk before they act."""
