"""Tables of counts and sums, protected and audited."""
