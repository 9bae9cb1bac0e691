"""Methods that make rows look alike until every class of them satisfies a criterion."""
