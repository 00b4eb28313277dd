"""`watch`: outputs that follow the program and the facts while files are edited.

`contents` notices what changed in files, `watcher` brings a session up to date with them, and `outputs`
writes and shows what that changed.
"""
