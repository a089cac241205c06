"""Models that write situational statements (SUGAR)."""
