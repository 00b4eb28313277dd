"""Events of OpenLineage: the datasets that a run read and wrote, their columns, and where these come from."""
