/** Cached queries: one key and one hook each. */

export * from "./addRepo";
export * from "./approvals";
export * from "./cache";
export * from "./overview";
export * from "./reviews";
export * from "./runs";
export * from "./savedPrompts";
export * from "./schedules";
export * from "./server";
export * from "./sessions";
export * from "./terminals";
export * from "./trees";
export * from "./worktrees";
