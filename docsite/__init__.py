"""What builds the documentation beside MkDocs: pages that follow from the code and from committed results."""
