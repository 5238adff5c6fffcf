"""State: functions that move sessions, tasks, approvals and calls from one state to the next inside one transaction.

The services of turns, live agents, sessions, trees, approvals and tool calls call these; they call only `policy` and
the rooms below it. None of them talks to an agent or starts a process. `limits/` counts what sessions, trees and
accounts may use, `reports/` holds what sessions are told about each other, and `calls/` the calls of Bough's own
tools.
"""
