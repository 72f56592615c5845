"""Sources: fetch steps, prepare steps and source states of the specification.

`poll.poll` fetches new data into the work area, `watch.check` only checks for a change. Neither imports Airflow or
Spark.
"""
