/** Lists the conversations that agents had outside of Bough, and imports them as sessions. */
import { useQuery } from "@tanstack/react-query";
import { CircleCheck, FolderX, Import as ImportIcon } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { importConversation } from "@/api/actions";
import { ApiError } from "@/api/client";
import { conversationsQuery, useAgents, useMay } from "@/api/queries";
import type { Conversation } from "@/api/types";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { plural } from "@/lib/format";
import { Button, ButtonLink } from "@/ui/controls/Button";
import { Input, Select } from "@/ui/controls/Field";
import { Empty, Problem, Skeleton } from "@/ui/feedback/Placeholders";
import { toast, toastError } from "@/ui/feedback/toast";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Time } from "@/ui/labels/Time";
import list from "@/ui/layout/listView.module.css";
import css from "./Import.module.css";

export default function Import() {
  useTitle("Import");
  const agents = useAgents().data ?? [];
  const [agent, setAgent] = useState("");
  const [words, setWords] = useState("");
  const mayImport = useMay("admin");
  return (
    <div className={list.view}>
      <header>
        <h1>Import conversations</h1>
        <p className={css.about}>
          Conversations that your agents had outside of Bough. An imported one becomes a session with its
          whole transcript: resume it, fork it, search it.
        </p>
      </header>
      {mayImport ? (
        <>
          <div className={`${list.filters} ${css.filters}`}>
            <Select aria-label="Agent" value={agent} onChange={(event) => setAgent(event.target.value)}>
              <option value="">All agents</option>
              {agents.map(({ name, title }) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </Select>
            <Input
              type="search"
              aria-label="Filter by title or folder"
              placeholder="Title or folder"
              value={words}
              onChange={(event) => setWords(event.target.value)}
            />
          </div>
          <Conversations agent={agent} words={words.trim().toLowerCase()} />
        </>
      ) : (
        <Empty icon={<ImportIcon />} title="Admins only">
          These are the conversations of the account that runs the server. Ask an admin to import yours.
        </Empty>
      )}
    </div>
  );
}

function Conversations({ agent, words }: { agent: string; words: string }) {
  const query = useQuery(conversationsQuery(agent));
  if (query.error && !query.data) return <Problem error={query.error} retry={() => void query.refetch()} />;
  if (!query.data)
    return (
      <div role="status" aria-label="Asking the agents for their conversations">
        <p className={list.count}>Asking the agents. The first start of one can take a while.</p>
        <Skeleton lines={5} block />
      </div>
    );
  const { conversations, unread, total } = query.data;
  const shown = conversations.filter(({ title, folder }) =>
    `${title} ${folder}`.toLowerCase().includes(words),
  );
  return (
    <section aria-label="Conversations" aria-busy={query.isFetching}>
      <p className={list.count} role="status">
        {plural(total, "conversation")}
        {shown.length < total && `, ${shown.length} shown`}
      </p>
      {shown.length ? (
        <ol className={css.rows}>
          {shown.map((conversation) => (
            <Row key={`${conversation.agent} ${conversation.id}`} conversation={conversation} />
          ))}
        </ol>
      ) : (
        <Empty icon={<ImportIcon />} title="No conversations">
          {total ? "No title or folder matches." : "The installed agents have none yet."}
        </Empty>
      )}
      {unread.length > 0 && (
        <details className={css.unread}>
          <summary>{plural(unread.length, "agent")} could not be asked</summary>
          <ul>
            {unread.map((problem) => (
              <li key={problem.agent}>
                <b>{problem.agent}</b>: {problem.reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function Row({ conversation }: { conversation: Conversation }) {
  const [, navigate] = useLocation();
  const [busy, setBusy] = useState(false);
  const { agent, id, title, folder, updatedAt, sessionId, refusal } = conversation;
  const run = async () => {
    setBusy(true);
    try {
      const { session, turns, warnings } = await importConversation({ agent, conversationId: id });
      toast([`Imported ${plural(turns, "turn")}.`, ...warnings].join(" "));
      navigate(routes.session(session.id));
    } catch (error) {
      const held = error instanceof ApiError ? error.details.sessionId : undefined;
      if (typeof held === "string") navigate(routes.session(held));
      else toastError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <li className={css.row}>
      <AgentMark agent={agent} />
      <div className={css.words}>
        <span className={css.title}>{title || "Untitled"}</span>
        <span className={css.folder} title={folder}>
          {folder}
        </span>
        {refusal && (
          <span className={css.refusal}>
            <FolderX aria-hidden /> {refusal}
          </span>
        )}
      </div>
      {updatedAt && (
        <span className={css.when}>
          <Time at={updatedAt} />
        </span>
      )}
      {sessionId ? (
        <ButtonLink size="small" variant="quiet" icon={<CircleCheck />} href={routes.session(sessionId)}>
          Open
        </ButtonLink>
      ) : (
        <Button
          size="small"
          busy={busy}
          disabled={refusal !== null}
          aria-label={`Import ${title || id}`}
          onClick={() => void run()}
        >
          Import
        </Button>
      )}
    </li>
  );
}
