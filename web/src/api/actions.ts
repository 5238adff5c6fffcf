/** Requests that change something, one function each. A refused request throws an `ApiError`; `act` shows it as a toast, for
 * buttons whose result arrives by the event stream. */
import { toastError } from "@/ui/feedback/toast";
import { api, dataOf } from "./client";
import type { components } from "./schema";
import type { Answer, Branch, NewSession, SessionPatch } from "./types";

type Schemas = components["schemas"];

const REOPEN = { resume: true, makeRoom: true };

const of = (sessionId: string) => ({ params: { path: { sessionId } } });

export const createSession = (body: NewSession) => dataOf(api.POST("/api/sessions", { body }));
export const patchSession = (sessionId: string, body: SessionPatch) =>
  dataOf(api.PATCH("/api/sessions/{sessionId}", { ...of(sessionId), body }));
export const deleteSession = (
  sessionId: string,
  query: { purge?: boolean; worktree?: "keep" | "remove"; force?: boolean; cascade?: boolean } = {},
) => dataOf(api.DELETE("/api/sessions/{sessionId}", { params: { path: { sessionId }, query } }));

/** Sends a prompt; a session that has ended is resumed (T2), at the limit in the place of one that is idle (T5). */
export const promptSession = (sessionId: string, body: Schemas["PromptBody"]) =>
  dataOf(api.POST("/api/sessions/{sessionId}/prompt", { ...of(sessionId), body: { ...REOPEN, ...body } }));
export const stopSession = (sessionId: string, body: Schemas["StopBody"] = {}) =>
  dataOf(api.POST("/api/sessions/{sessionId}/stop", { ...of(sessionId), body }));
export const resumeSession = (sessionId: string) =>
  dataOf(api.POST("/api/sessions/{sessionId}/resume", { ...of(sessionId), body: { makeRoom: true } }));
/** Gives the running turn the session's mode, which otherwise counts from the next prompt (P2). */
export const applyMode = (sessionId: string) =>
  dataOf(api.POST("/api/sessions/{sessionId}/mode/apply", { ...of(sessionId), body: {} }));
export const completeSession = (sessionId: string, body: Schemas["Complete"] = {}) =>
  dataOf(api.POST("/api/sessions/{sessionId}/complete", { ...of(sessionId), body }));
export const archiveSession = (sessionId: string, body: Schemas["Archive"] = {}) =>
  dataOf(api.POST("/api/sessions/{sessionId}/archive", { ...of(sessionId), body }));

export const forkSession = (sessionId: string, body: Branch) =>
  dataOf(api.POST("/api/sessions/{sessionId}/fork", { ...of(sessionId), body }));
export const spawnSession = (sessionId: string, body: Branch) =>
  dataOf(api.POST("/api/sessions/{sessionId}/spawn", { ...of(sessionId), body }));
export const askSideQuestion = (sessionId: string, body: Branch) =>
  dataOf(api.POST("/api/sessions/{sessionId}/btw", { ...of(sessionId), body }));
export const startRace = (sessionId: string, body: Schemas["NewRace"]) =>
  dataOf(api.POST("/api/sessions/{sessionId}/race", { ...of(sessionId), body }));
export const keepRacer = (raceId: string, body: Schemas["KeepBody"]) =>
  dataOf(api.POST("/api/races/{raceId}/keep", { params: { path: { raceId } }, body }));

export const importConversation = (body: Schemas["NewImport"]) =>
  dataOf(api.POST("/api/conversations/import", { body }));
export const catchUp = (sessionId: string) =>
  dataOf(api.POST("/api/sessions/{sessionId}/catch-up", { ...of(sessionId), body: {} }));
export const terminalCommand = (sessionId: string) =>
  dataOf(api.POST("/api/sessions/{sessionId}/terminal-command", { ...of(sessionId), body: {} }));

export const patchTask = (taskId: string, body: Schemas["TaskPatch"]) =>
  dataOf(api.PATCH("/api/tasks/{taskId}", { params: { path: { taskId } }, body }));
export const cancelTask = (taskId: string) =>
  dataOf(api.DELETE("/api/tasks/{taskId}", { params: { path: { taskId } } }));
/** Sends the prompt of a failed or cancelled task again, with its files. A session that has ended is resumed, at the limit in
 * the place of one that is idle (T5). */
export const retryTask = (taskId: string) =>
  dataOf(api.POST("/api/tasks/{taskId}/retry", { params: { path: { taskId } }, body: { makeRoom: true } }));
export const restoreTask = (taskId: string, body: Schemas["RestoreBody"]) =>
  dataOf(api.POST("/api/tasks/{taskId}/restore", { params: { path: { taskId } }, body }));
export const restoreCheckpoint = (checkpointId: string, body: Schemas["RestoreCheckpoint"] = {}) =>
  dataOf(api.POST("/api/checkpoints/{checkpointId}/restore", { params: { path: { checkpointId } }, body }));

export const answerApproval = (approvalId: string, body: Answer) =>
  dataOf(api.POST("/api/approvals/{approvalId}", { params: { path: { approvalId } }, body }));

/** A file attached to a prompt: its text, or its bytes as base64. */
export interface PromptFile {
  name: string;
  mimeType: string;
  text?: string;
  data?: string;
}

/** Sends a prompt from the prompt box. The same `key` means the same prompt, so a lost response never sends it twice. */
export const sendPrompt = (
  sessionId: string,
  body: { text: string; files?: PromptFile[]; when?: "now" | "after_stop" },
  key: string,
) =>
  dataOf(
    api.POST("/api/sessions/{sessionId}/prompt", {
      params: { path: { sessionId }, header: { "Idempotency-Key": key } },
      body: { ...REOPEN, ...body },
    }),
  );
export const seeSession = (sessionId: string) =>
  dataOf(api.POST("/api/sessions/{sessionId}/seen", { ...of(sessionId), body: {} }));
export const unseeSession = (sessionId: string) =>
  dataOf(api.POST("/api/sessions/{sessionId}/unseen", { ...of(sessionId), body: {} }));
/** Pins a session for this person, or removes the pin; returns the new sidebar. */
export const pinSession = (sessionId: string, pinned: boolean) =>
  pinned
    ? dataOf(api.PUT("/api/sessions/{sessionId}/pin", of(sessionId)))
    : dataOf(api.DELETE("/api/sessions/{sessionId}/pin", of(sessionId)));
export const setTranscriptLimit = (sessionId: string, limit: number | null) =>
  dataOf(api.PUT("/api/sessions/{sessionId}/transcript", { ...of(sessionId), body: { limit } }));
export const setBudget = (sessionId: string, body: Schemas["BudgetBody"]) =>
  dataOf(api.PUT("/api/sessions/{sessionId}/budget", { ...of(sessionId), body }));

const review = (kind: "worktree" | "session" | "task", subjectId: string) => ({ path: { kind, subjectId } });
export const addComment = (
  kind: "worktree" | "session" | "task",
  subjectId: string,
  body: Schemas["NewComment"],
) => dataOf(api.POST("/api/reviews/{kind}/{subjectId}/comments", { params: review(kind, subjectId), body }));
export const editComment = (commentId: string, body: Schemas["CommentPatch"]) =>
  dataOf(api.PATCH("/api/review-comments/{commentId}", { params: { path: { commentId } }, body }));
export const removeComment = (commentId: string) =>
  dataOf(api.DELETE("/api/review-comments/{commentId}", { params: { path: { commentId } } }));
export const viewFile = (
  kind: "worktree" | "session" | "task",
  subjectId: string,
  body: Schemas["ViewedFile"],
) => dataOf(api.PUT("/api/reviews/{kind}/{subjectId}/viewed", { params: review(kind, subjectId), body }));
/** Sends all comments of a draft as one prompt, as `promptSession` does. The same `key` means the same draft, so it is never
 * sent twice. */
export const sendReview = (
  kind: "worktree" | "session" | "task",
  subjectId: string,
  body: Schemas["SendReview"],
  key: string,
) =>
  dataOf(
    api.POST("/api/reviews/{kind}/{subjectId}/send", {
      params: { ...review(kind, subjectId), header: { "Idempotency-Key": key } },
      body: { ...REOPEN, ...body },
    }),
  );

/** Runs a request from a button and shows a refusal as a toast; returns whether it succeeded. */
export async function runRequest(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    toastError(error);
    return false;
  }
}

export const addRepo = (body: Schemas["NewRepo"]) => dataOf(api.POST("/api/repos", { body }));
export const startClone = (body: Schemas["NewClone"]) => dataOf(api.POST("/api/clones", { body }));
export const cancelClone = (cloneId: string) =>
  dataOf(api.POST("/api/clones/{cloneId}/cancel", { params: { path: { cloneId } }, body: undefined }));
export const patchRepo = (repoId: string, body: Schemas["RepoPatch"]) =>
  dataOf(api.PATCH("/api/repos/{repoId}", { params: { path: { repoId } }, body }));
export const patchRepoGit = (repoId: string, body: Schemas["GitPermissionsPatch"]) =>
  dataOf(api.PATCH("/api/repos/{repoId}/git", { params: { path: { repoId } }, body }));
export const patchRepoConfig = (repoId: string, body: Schemas["ConfigDecision"]) =>
  dataOf(api.PATCH("/api/repos/{repoId}/config", { params: { path: { repoId } }, body }));
/** Starts a worktree's setup again, without waiting for its end. */
export const setUpWorktree = (worktreeId: string) =>
  dataOf(
    api.POST("/api/worktrees/{worktreeId}/setup", {
      params: { path: { worktreeId } },
      body: { wait: false },
    }),
  );
export const removeRepo = (repoId: string) =>
  dataOf(api.DELETE("/api/repos/{repoId}", { params: { path: { repoId } } }));

export const addMcpServer = (body: Schemas["NewMcpServer"]) => dataOf(api.POST("/api/mcp-servers", { body }));
export const patchMcpServer = (serverId: string, body: Schemas["McpServerPatch"]) =>
  dataOf(api.PATCH("/api/mcp-servers/{serverId}", { params: { path: { serverId } }, body }));
export const removeMcpServer = (serverId: string) =>
  dataOf(api.DELETE("/api/mcp-servers/{serverId}", { params: { path: { serverId } } }));

export const addPreset = (body: Schemas["NewPreset"]) => dataOf(api.POST("/api/presets", { body }));
export const patchPreset = (presetId: string, body: Schemas["PresetPatch"]) =>
  dataOf(api.PATCH("/api/presets/{presetId}", { params: { path: { presetId } }, body }));
export const removePreset = (presetId: string) =>
  dataOf(api.DELETE("/api/presets/{presetId}", { params: { path: { presetId } } }));

export const addSavedPrompt = (body: Schemas["NewSavedPrompt"]) =>
  dataOf(api.POST("/api/saved-prompts", { body }));
export const patchSavedPrompt = (name: string, body: Schemas["SavedPromptPatch"]) =>
  dataOf(api.PATCH("/api/saved-prompts/{name}", { params: { path: { name } }, body }));
export const removeSavedPrompt = (name: string) =>
  dataOf(api.DELETE("/api/saved-prompts/{name}", { params: { path: { name } } }));

export const revokeToken = (tokenId: string) =>
  dataOf(api.DELETE("/api/tokens/{tokenId}", { params: { path: { tokenId } } }));

export const addToken = (body: Schemas["NewToken"]) => dataOf(api.POST("/api/tokens", { body }));
export const rotateToken = (tokenId: string) =>
  dataOf(api.POST("/api/tokens/{tokenId}/rotate", { params: { path: { tokenId } }, body: {} }));

export const addUser = (body: Schemas["NewUser"]) => dataOf(api.POST("/api/users", { body }));
export const patchUser = (name: string, body: Schemas["UserPatch"]) =>
  dataOf(api.PATCH("/api/users/{name}", { params: { path: { name } }, body }));
export const removeUser = (name: string) =>
  dataOf(api.DELETE("/api/users/{name}", { params: { path: { name } } }));

export const addRule = (body: Schemas["NewRule"]) => dataOf(api.POST("/api/policy/rules", { body }));
export const patchRule = (ruleId: string, body: Schemas["RulePatch"]) =>
  dataOf(api.PATCH("/api/policy/rules/{ruleId}", { params: { path: { ruleId } }, body }));
export const removeRule = (ruleId: string) =>
  dataOf(api.DELETE("/api/policy/rules/{ruleId}", { params: { path: { ruleId } } }));
export const removeChoice = (choiceId: string) =>
  dataOf(api.DELETE("/api/policy/choices/{choiceId}", { params: { path: { choiceId } } }));

export const addSchedule = (body: Schemas["NewSchedule"]) => dataOf(api.POST("/api/schedules", { body }));
export const patchSchedule = (scheduleId: string, body: Schemas["SchedulePatch"]) =>
  dataOf(api.PATCH("/api/schedules/{scheduleId}", { params: { path: { scheduleId } }, body }));
export const runSchedule = (scheduleId: string) =>
  dataOf(api.POST("/api/schedules/{scheduleId}/run", { params: { path: { scheduleId } }, body: {} }));
export const removeSchedule = (scheduleId: string) =>
  dataOf(api.DELETE("/api/schedules/{scheduleId}", { params: { path: { scheduleId } } }));

export const addBoard = (name: string) => dataOf(api.POST("/api/boards", { body: { name } }));
export const renameBoard = (boardId: string, name: string) =>
  dataOf(api.PATCH("/api/boards/{boardId}", { params: { path: { boardId } }, body: { name } }));
export const removeBoard = (boardId: string) =>
  dataOf(api.DELETE("/api/boards/{boardId}", { params: { path: { boardId } } }));
export const patchWorktree = (worktreeId: string, body: Schemas["WorktreePatch"]) =>
  dataOf(api.PATCH("/api/worktrees/{worktreeId}", { params: { path: { worktreeId } }, body }));
export const removeWorktree = (worktreeId: string, query: { force?: boolean; branch?: "keep" | "delete" }) =>
  dataOf(api.DELETE("/api/worktrees/{worktreeId}", { params: { path: { worktreeId }, query } }));

export type FinishBody =
  | { verb: "commit"; body: Schemas["CommitBody"] }
  | { verb: "update"; body: Schemas["UpdateBody"] }
  | { verb: "merge"; body: Schemas["MergeBody"] }
  | { verb: "push"; body: Schemas["PushBody"] }
  | { verb: "pullRequest"; body: Schemas["PullRequestBody"] }
  | { verb: "undo"; body: Schemas["UndoMergeBody"] }
  | { verb: "cleanup"; body: Schemas["CleanupBody"] };
/** Does one step that finishes the work in a worktree, or only previews it. */
export const finishWork = (worktreeId: string, request: FinishBody, dryRun: boolean) => {
  const params = { path: { worktreeId } };
  switch (request.verb) {
    case "commit":
      return dataOf(
        api.POST("/api/worktrees/{worktreeId}/commit", { params, body: { ...request.body, dryRun } }),
      );
    case "update":
      return dataOf(
        api.POST("/api/worktrees/{worktreeId}/update", { params, body: { ...request.body, dryRun } }),
      );
    case "merge":
      return dataOf(
        api.POST("/api/worktrees/{worktreeId}/merge", { params, body: { ...request.body, dryRun } }),
      );
    case "push":
      return dataOf(
        api.POST("/api/worktrees/{worktreeId}/push", { params, body: { ...request.body, dryRun } }),
      );
    case "pullRequest":
      return dataOf(
        api.POST("/api/worktrees/{worktreeId}/pull-request", { params, body: { ...request.body, dryRun } }),
      );
    case "undo":
      return dataOf(
        api.POST("/api/worktrees/{worktreeId}/merge/undo", { params, body: { ...request.body, dryRun } }),
      );
    case "cleanup":
      return dataOf(
        api.POST("/api/worktrees/{worktreeId}/cleanup", { params, body: { ...request.body, dryRun } }),
      );
  }
};

/** Asks the server of a pull request how its checks are. */
export const refreshChecks = (worktreeId: string) =>
  dataOf(
    api.POST("/api/worktrees/{worktreeId}/checks/refresh", { params: { path: { worktreeId } }, body: {} }),
  );
/** Sends what is new and failed to the worktree's session as one prompt. */
export const sendChecks = (worktreeId: string) =>
  dataOf(api.POST("/api/worktrees/{worktreeId}/checks/send", { params: { path: { worktreeId } }, body: {} }));
export const patchChecks = (worktreeId: string, autoSend: boolean | null) =>
  dataOf(
    api.PATCH("/api/worktrees/{worktreeId}/checks", { params: { path: { worktreeId } }, body: { autoSend } }),
  );

/** Creates the scratch repository of the tour, or returns the one that exists. */
export const beginTour = () => dataOf(api.POST("/api/tour", { body: {} }));
export const removeTour = () => dataOf(api.DELETE("/api/tour"));

export const openTerminal = (body: Schemas["NewTerminal"]) => dataOf(api.POST("/api/terminals", { body }));
export const endTerminal = (terminalId: string) =>
  dataOf(api.DELETE("/api/terminals/{terminalId}", { params: { path: { terminalId } } }));

/** Starts a command in a worktree. */
export const startRun = (worktreeId: string, body: Schemas["NewRun"]) =>
  dataOf(api.POST("/api/worktrees/{worktreeId}/runs", { params: { path: { worktreeId } }, body }));
export const stopRun = (runId: string) =>
  dataOf(api.POST("/api/runs/{runId}/stop", { params: { path: { runId } }, body: undefined }));
/** Returns the address at which a browser on the server's machine sees what a run serves. */
export const previewRun = (runId: string) =>
  dataOf(api.POST("/api/runs/{runId}/preview", { params: { path: { runId } }, body: undefined }));
/** Cleans up merged worktrees, or only lists them. */
export const sweepWorktrees = (body: Schemas["SweepBody"]) =>
  dataOf(api.POST("/api/worktrees/sweep", { body }));
