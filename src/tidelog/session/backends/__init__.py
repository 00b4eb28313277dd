"""Where the data of a session is: in process, on Spark, or wherever it fits."""
