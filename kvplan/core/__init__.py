"""Pure values: units, element types, models, hardware, the ledger and the seam to the engines."""
