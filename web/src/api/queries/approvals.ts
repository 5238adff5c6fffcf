/** Queries for approvals, policy rules and always-allowed actions. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, dataOf } from "../client";
import { FULL_LIST_LIMIT } from "./cache";

export const approvalsQuery = queryOptions({
  queryKey: ["approvals"],
  queryFn: async () =>
    (
      await dataOf(
        api.GET("/api/approvals", { params: { query: { status: "pending", limit: FULL_LIST_LIMIT } } }),
      )
    ).approvals,
});
export const useApprovals = () => useQuery(approvalsQuery);

/** Whether a session waits for the answer to a question, and for no approval. */
export const useAsksQuestion = (sessionId: string) =>
  useQuery({
    ...approvalsQuery,
    select: (approvals) => {
      const own = approvals.filter((approval) => approval.sessionId === sessionId);
      return own.length > 0 && own.every(({ toolKind }) => toolKind === "question");
    },
  }).data ?? false;

export const rulesQuery = queryOptions({
  queryKey: ["rules"],
  queryFn: async () =>
    (await dataOf(api.GET("/api/policy/rules", { params: { query: { limit: 500 } } }))).rules,
});
export const useRules = () => useQuery(rulesQuery);

export const choicesQuery = queryOptions({
  queryKey: ["choices"],
  queryFn: async () =>
    (await dataOf(api.GET("/api/policy/choices", { params: { query: { limit: 500 } } }))).choices,
});
export const useChoices = () => useQuery(choicesQuery);

/** The choices that would answer an approval now: those that its "always" made, or found. */
export const answeringChoicesQuery = (approvalId: string) =>
  queryOptions({
    queryKey: ["choices", approvalId],
    queryFn: async () =>
      (await dataOf(api.GET("/api/policy/choices", { params: { query: { approvalId } } }))).choices,
  });

/** An approval by its id, also a decided one. */
export const approvalQuery = (approvalId: string) =>
  queryOptions({
    queryKey: ["approval", approvalId],
    queryFn: () => dataOf(api.GET("/api/approvals/{approvalId}", { params: { path: { approvalId } } })),
    staleTime: 0,
  });
