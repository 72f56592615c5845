"""Where data come from: fetch steps, prepare steps and source states of the specification.

`poll.poll` asks a source for what is new and leaves files in the work area; `watch.look` only asks. Neither
knows Airflow or Spark.
"""
