"""Strata evaluated by local engines, in tasks or in the driver, which may exchange what they find."""
