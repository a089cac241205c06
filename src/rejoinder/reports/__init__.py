"""Tables and pages: what people see of a result."""
