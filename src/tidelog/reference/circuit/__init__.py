"""The DBSP circuit of the dynamic interpreter: facts and rules are both streams of changes.

The operators, one per file, under their names in the literature:

    stream  lift  delay  integrate  differentiate  delta0  eliminate  join  distinct
    incremental     what the incremental operators mean, by definition

The interpreter built from them, in the order of the data's path:

    clause          rules, taken apart: one head, one body, literals in order, variables by number
    strata          the level of each clause, so that negation looks only at what is finished
    kit             directions, signals and join orders: a program as Z-sets
    rewrite         values for the variables of a prefix, and how a literal extends them
    gatekeep  index  product  ground      the joins of one round
    level           the nested circuit of one level: rounds within commits
    chain           levels, one above the other
    reasoner        Circuit: commits in, changes out
"""

from tidelog.reference.circuit.reasoner import Circuit

__all__ = ["Circuit"]
