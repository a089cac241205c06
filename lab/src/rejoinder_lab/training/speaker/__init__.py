"""The training of SSREM, RSREM and RUBER."""
