"""Writers of situational statements (SUGAR)."""
