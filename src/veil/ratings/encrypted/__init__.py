"""Computing on what stays hidden: encrypted scores, and inner products of shares."""
