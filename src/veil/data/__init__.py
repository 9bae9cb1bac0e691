"""Material: word vectors, texts, tables, and how to fetch them."""
