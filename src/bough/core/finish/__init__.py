"""Finishes the work in a worktree: commit, update from its base, merge into its base, push, pull request, clean up.

Each operation first builds a plan that changes nothing; a preview is that plan. `service` builds plans, and
`operations` carries them out under the locks of the folders concerned. `checks/` watches pull requests, `cleanup/`
removes what is finished, and `surveys/` looks at all worktrees. Called by the doors. Calls `sessions` for
prompts, `worktrees` and `git`.
"""
