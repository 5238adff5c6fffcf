"""Sends prompts by the clock: at the times of a cron expression or once, to one session or to a new one per run. Each
time is used once, whatever is killed, because it is a unique row. `times` computes when, `clock` starts what is due,
`schedule_runs` carries a run out, and `service` changes schedules.

Called by the routes of `/api/schedules` and the tools about schedules; `background_work` runs the clock. Calls
`sessions`, `state` and `store`."""
