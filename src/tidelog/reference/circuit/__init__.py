"""The DBSP circuit of the dynamic interpreter: both facts and rules are streams of changes.

The operators, one per file, under their names in the literature:

    stream  lift  delay  integrate  differentiate  delta0  eliminate  join  distinct
    incremental     the definition of the incremental operators

The interpreter built from them, in the order of data flow:

    clause          rules in normal form: one head, one body, literals in order, variables by number
    strata          the level of each clause, so that negation only reads complete relations
    kit             directions, signals and join orders: a program as Z-sets
    rewrite         values for the variables of a prefix, and how a literal extends them
    gatekeep  index  product  ground      the joins of one round
    level           the nested circuit of one level: rounds within commits
    chain           levels, one above the other
    reasoner        Circuit: commits in, changes out
"""

from tidelog.reference.circuit.reasoner import Circuit

__all__ = ["Circuit"]
