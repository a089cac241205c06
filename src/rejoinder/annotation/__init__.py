"""People in the loop: a project's units, who answers them, where the answers are kept, and how they leave again."""
