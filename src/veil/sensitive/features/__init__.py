"""What classifiers see of a document: its words, and families of numbers beside them."""
