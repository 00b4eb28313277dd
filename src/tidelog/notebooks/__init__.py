"""Tidelog in notebooks: `%load_ext tidelog`, cells of rules, queries, and pictures without extra programs.

`graphs` lays out and draws, `pictures` says what is drawn of a session, and `magics` are the commands of
notebooks. Importing this package imports neither IPython nor an engine.
"""
