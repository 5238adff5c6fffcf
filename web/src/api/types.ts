/** Names for the server's records, whose shapes come from the OpenAPI document, and types for the contents of messages. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Session = Schemas["Session"];
export type NewSession = Schemas["NewSession"];
export type MadeRoom = Schemas["MadeRoom"];
export type SessionPatch = Schemas["SessionPatch"];
export type Conversation = Schemas["Conversation"];
export type Branch = Schemas["NewBranch"];
export type Task = Schemas["Task"];
export type ParkedTask = NonNullable<Task["parked"]>;
export type Approval = Schemas["Approval"];
export type Answer = Schemas["AnswerBody"];
export type Agent = Schemas["AgentDescription"];
export type AgentOffer = Schemas["AgentOffer"];
export type AgentTour = Schemas["AgentTour"];
export type Repo = Schemas["Repo"];
export type Clone = Schemas["Clone"];
export type FoundRepo = Schemas["FoundRepo"];
export type FolderEntry = Schemas["FolderEntry"];
export type RepoConfig = Schemas["ConfigReport"];
export type GitReport = Schemas["GitReport"];
export type Worktree = Schemas["Worktree"];
export type Board = Schemas["Board"];
export type McpServer = Schemas["McpServer"];
export type SavedPrompt = Schemas["SavedPrompt"];
export type OfferedPrompt = Schemas["OfferedPrompt"];
export type Preset = Schemas["Preset"];
export type Token = Schemas["Token"];
export type NewUserToken = Schemas["NewUserToken"];
export type User = Schemas["UserInfo"];
export type AuditEntry = Schemas["AuditEntry"];
export type Tree = Schemas["Tree"];
export type Node = Schemas["Node"];
export type Race = Schemas["Race"];
export type RacerStatus = Schemas["RacerStatus"];
export type Diff = Schemas["Diff"];
export type RaceBrief = Schemas["RaceBrief"];
export type Card = Schemas["Card"];
export type CardRepo = Schemas["CardRepo"];
export type CardSession = Schemas["CardSession"];
export type Review = Schemas["Review"];
export type ReviewFile = Schemas["ReviewFile"];
export type FileReview = Schemas["FileReview"];
export type ReviewComment = Schemas["Comment"];
export type Losses = Schemas["Losses"];
export type FinishState = Schemas["FinishState"];
export type Overlap = Schemas["Overlap"];
export type WorktreeProgress = Schemas["WorktreeProgress"];
export type Finished = Schemas["Finished"];
export type PullRequestChecks = Schemas["PullRequestChecks"];
export type Run = Schemas["Run"];
export type DiskUse = Schemas["DiskUse"];
export type Swept = Schemas["Swept"];
export type Budget = Schemas["Budget"];
export type Callback = Schemas["Callback"];
export type Rule = Schemas["Rule"];
export type Schedule = Schemas["ShownSchedule"];
export type ScheduleRun = Schemas["ScheduleRun"];
export type Choice = Schemas["Choice"];
export type SearchHit = Omit<Schemas["Hit"], "marks"> & { marks: number[][] };

export type Status = Session["status"];
export type Activity = Session["activity"];
export type Stuck = NonNullable<Session["stuck"]>;
export type Kind = Session["kind"];
export type Mode = Session["permissionMode"];
export type TaskStatus = Task["status"];
export type Role = User["role"];

export interface FileNote {
  id: string;
  name: string;
  mimeType: string;
  size: number;
}

export interface PlanStep {
  content: string;
  status: "pending" | "in_progress" | "completed";
  priority?: string;
}

/** The content of a message (R4). Unknown types are shown as JSON. */
export interface Content {
  type: string;
  text?: string;
  partial?: boolean;
  /** The named user who sent a prompt. */
  user?: string;
  files?: FileNote[];
  steps?: PlanStep[];
  tool?: string;
  args?: Record<string, unknown>;
  result?: Record<string, unknown>;
  [key: string]: unknown;
}

export type Message = Omit<Schemas["Message"], "content"> & { content: Content };
