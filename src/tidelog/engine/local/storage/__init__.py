"""Relations in memory: tables, indexes, traces, changes of a commit, snapshots, saved states."""
