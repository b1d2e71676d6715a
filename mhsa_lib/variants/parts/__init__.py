"""Parts that variants put into the stages: heads composed (``composition``), or routed."""
