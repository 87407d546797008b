"""What builds the documentation site beside MkDocs: pages that follow from the code and from committed results."""
