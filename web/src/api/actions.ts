/** What people do: one function for each act, named as the server names it. A refusal is thrown as `ApiError`; `act` shows
 * it, for acts whose outcome comes back by the event stream anyway. */
import { toastError } from "@/ui/toast";
import { api, got } from "./client";
import type { components } from "./schema";
import type { Answer, Branch, NewSession, SessionPatch } from "./types";

type Schemas = components["schemas"];

const of = (sessionId: string) => ({ params: { path: { sessionId } } });

export const createSession = (body: NewSession) => got(api.POST("/api/sessions", { body }));
export const patchSession = (sessionId: string, body: SessionPatch) =>
  got(api.PATCH("/api/sessions/{sessionId}", { ...of(sessionId), body }));
export const deleteSession = (
  sessionId: string,
  query: { purge?: boolean; worktree?: "keep" | "remove"; force?: boolean; cascade?: boolean } = {},
) => got(api.DELETE("/api/sessions/{sessionId}", { params: { path: { sessionId }, query } }));

/** In the page, a prompt to a session that has ended resumes it (T2). */
export const promptSession = (sessionId: string, body: Schemas["Prompt"]) =>
  got(api.POST("/api/sessions/{sessionId}/prompt", { ...of(sessionId), body: { resume: true, ...body } }));
export const stopSession = (sessionId: string, body: Schemas["Stop"] = {}) =>
  got(api.POST("/api/sessions/{sessionId}/stop", { ...of(sessionId), body }));
export const resumeSession = (sessionId: string) =>
  got(api.POST("/api/sessions/{sessionId}/resume", { ...of(sessionId), body: {} }));
export const completeSession = (sessionId: string, body: Schemas["Complete"] = {}) =>
  got(api.POST("/api/sessions/{sessionId}/complete", { ...of(sessionId), body }));
export const archiveSession = (sessionId: string, body: Schemas["Archive"] = {}) =>
  got(api.POST("/api/sessions/{sessionId}/archive", { ...of(sessionId), body }));

export const forkSession = (sessionId: string, body: Branch) =>
  got(api.POST("/api/sessions/{sessionId}/fork", { ...of(sessionId), body }));
export const spawnSession = (sessionId: string, body: Branch) =>
  got(api.POST("/api/sessions/{sessionId}/spawn", { ...of(sessionId), body }));
export const askAside = (sessionId: string, body: Branch) =>
  got(api.POST("/api/sessions/{sessionId}/btw", { ...of(sessionId), body }));
export const startRace = (sessionId: string, body: Schemas["NewRace"]) =>
  got(api.POST("/api/sessions/{sessionId}/race", { ...of(sessionId), body }));
export const keepContender = (raceId: string, body: Schemas["KeepBody"]) =>
  got(api.POST("/api/races/{raceId}/keep", { params: { path: { raceId } }, body }));

export const patchTask = (taskId: string, body: Schemas["TaskPatch"]) =>
  got(api.PATCH("/api/tasks/{taskId}", { params: { path: { taskId } }, body }));
export const cancelTask = (taskId: string) =>
  got(api.DELETE("/api/tasks/{taskId}", { params: { path: { taskId } } }));
export const restoreTask = (taskId: string, body: Schemas["RestoreBody"]) =>
  got(api.POST("/api/tasks/{taskId}/restore", { params: { path: { taskId } }, body }));

export const answerApproval = (approvalId: string, body: Answer) =>
  got(api.POST("/api/approvals/{approvalId}", { params: { path: { approvalId } }, body }));

/** Runs an act from a button: what it refuses is said in a corner. Whether it worked is the answer. */
export async function act(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    toastError(error);
    return false;
  }
}
