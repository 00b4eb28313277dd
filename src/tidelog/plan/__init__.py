"""From a typed program to plans: flat rules over stored relations, and orders in which to join them."""
