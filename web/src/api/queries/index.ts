/** What is asked of the server and kept: one key and one hook for each question. */
export * from "./approvals";
export * from "./cache";
export * from "./overview";
export * from "./server";
export * from "./sessions";
export * from "./trees";
export * from "./worktrees";
