/** One question to the person, with what it is about and the answers. */
import type { Approval } from "@/api/types";

export function ApprovalCard({ approval }: { approval: Approval; showSession?: boolean }) {
  return <section>{approval.title}</section>;
}
