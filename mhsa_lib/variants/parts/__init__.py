"""Parts that variants put into the five stages: heads composed, and heads chosen."""
