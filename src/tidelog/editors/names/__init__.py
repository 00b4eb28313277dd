"""Names in texts that are being edited: where they occur, what they denote, and how to rename them.

`occurrences` finds the names in an item, `document` keeps those of a text while it is edited, `workspace`
has all texts, and `symbols` says which occurrences denote the same thing. `renaming` changes them.
"""
