"""Strata evaluated by local engines, in the driver or in tasks, which may send each other what they find."""
