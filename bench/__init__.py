"""Measurements: how long Tidelog takes beside other engines, and its updates beside its own bootstrap.

`python -m bench --help` says how to run them, `README.md` what each number means.
"""
