"""Answers what agents ask during their turns: `permissions` handles permission requests, `unknown_hosts` hosts that a
strict sandbox does not let an agent reach, `self_granted_rights` takes back rights that an agent gave itself, and
`agent_requests` holds what nobody has answered yet.

Called by `agent` and, through functions that `app` passes on, by the agent's client. Calls `policy` for decisions and
`approvals` to ask people.
"""
