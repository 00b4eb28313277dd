"""Measurements: Tidelog compared with other engines, and its updates compared with a bootstrap.

`python -m bench --help` explains how to run them, `README.md` what each number means.
"""
