"""Where the data of a session is: in this process, on Spark, or wherever it fits."""
