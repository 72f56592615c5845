"""How a dataset is: what its chain and its contract say against the clock, and what Airflow knows of its runs."""
