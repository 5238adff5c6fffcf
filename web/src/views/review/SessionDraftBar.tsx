/** The bar in a session that sends the comments on its messages and changes, if there are any. */
import { useQuery } from "@tanstack/react-query";
import { MessageSquareCode } from "lucide-react";
import { reviewCommentsQuery } from "@/api/queries/reviews";
import type { Session } from "@/api/types";
import { routes } from "@/app/routes";
import { ButtonLink } from "@/ui/controls/Button";
import { DraftBar } from "./DraftBar";

export function SessionDraftBar({ session }: { session: Session }) {
  const drafts = useQuery(reviewCommentsQuery("session", session.id)).data?.drafts ?? 0;
  if (!drafts) return null;
  return (
    <DraftBar kind="session" subjectId={session.id} drafts={drafts} sessions={[session]}>
      <ButtonLink href={routes.review("session", session.id)} icon={<MessageSquareCode />}>
        Review
      </ButtonLink>
    </DraftBar>
  );
}
