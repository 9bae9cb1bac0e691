"""Tables of counts and of sums: what small cells tell, and how to publish without telling it."""
