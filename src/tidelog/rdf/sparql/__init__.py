"""SPARQL queries as programs over triples.

`reading` parses a query with rdflib, `translation` makes rules of its algebra, `expressions` gives filters
and computed values their meaning (`functions` are how rules call them), and `answers` orders and shows what
is found.
"""
