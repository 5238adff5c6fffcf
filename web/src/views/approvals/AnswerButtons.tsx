/** The buttons below a question, and the small forms that some of them open. */
import { ChevronDown } from "lucide-react";
import { useState } from "react";
import type { Answer, Approval } from "@/api/types";
import { routes } from "@/app/routes";
import { Button, ButtonLink, IconButton } from "@/ui/controls/Button";
import { Field, Input } from "@/ui/controls/Field";
import { Menu, MenuItem } from "@/ui/controls/Menu";
import css from "./ApprovalCard.module.css";
import { isCall, type Answers as Takes } from "./approvalDetails";
import { CallForm } from "./EditCallForm";
import { fieldsOf, makesSession, proposalOf } from "./proposedCall";

const SCOPES = {
  session: "In this session",
  worktree: "In this folder",
  everywhere: "Everywhere",
} as const;

interface Props {
  approval: Approval;
  takes: Takes;
  words: { yes: string; no: string };
  /** Which answer is on its way. */
  busy: string | null;
  open: "because" | "arguments" | null;
  setOpen: (open: "because" | "arguments" | null) => void;
  answer: (which: string, body: Answer) => Promise<void>;
}

export function Answers({ approval, takes, words, busy, open, setOpen, answer }: Props) {
  if (open === "because") return <Because busy={busy} close={() => setOpen(null)} answer={answer} />;
  if (open === "arguments")
    return (
      <CallForm
        proposal={proposalOf(approval)}
        busy={busy !== null}
        close={() => setOpen(null)}
        approve={(given) => answer("allow", { decision: "allow", arguments: given })}
      />
    );
  const off = busy !== null;
  return (
    <div className={css.answers}>
      {takes.ways.map((way) => (
        <Button
          key={way.optionId}
          look="primary"
          busy={busy === way.optionId}
          disabled={off}
          onClick={() => answer(way.optionId, { optionId: way.optionId })}
        >
          {way.name}
        </Button>
      ))}
      {takes.ways.length === 0 && (
        <Button
          look="primary"
          busy={busy === "allow"}
          disabled={off}
          aria-keyshortcuts="a"
          onClick={() => answer("allow", { decision: "allow" })}
        >
          {words.yes}
        </Button>
      )}
      {isCall(approval) && <Change approval={approval} off={off} open={() => setOpen("arguments")} />}
      {takes.always && (
        <Menu
          align="start"
          trigger={
            <Button busy={busy === "always"} disabled={off} aria-keyshortcuts="Shift+A">
              Always <ChevronDown aria-hidden />
            </Button>
          }
        >
          {takes.scopes.map((scope) => (
            <MenuItem key={scope} onSelect={() => void answer("always", { decision: "allow_always", scope })}>
              {SCOPES[scope]}
            </MenuItem>
          ))}
        </Menu>
      )}
      <span className={css.split}>
        <Button
          look="danger"
          busy={busy === "deny"}
          disabled={off}
          aria-keyshortcuts="d"
          onClick={() => answer("deny", { decision: "deny" })}
        >
          {words.no}
        </Button>
        {takes.because && (
          <Menu
            trigger={
              <IconButton label={`More ways to say ${words.no.toLowerCase()}`} look="danger" disabled={off}>
                <ChevronDown />
              </IconButton>
            }
          >
            <MenuItem onSelect={() => setOpen("because")}>Deny and say why…</MenuItem>
          </Menu>
        )}
      </span>
    </div>
  );
}

function Change({ approval, off, open }: { approval: Approval; off: boolean; open: () => void }) {
  const proposal = proposalOf(approval);
  if (makesSession(proposal.tool))
    return <ButtonLink href={routes.proposal(approval.id)}>Change…</ButtonLink>;
  return fieldsOf(proposal).length ? (
    <Button disabled={off} onClick={open}>
      Change…
    </Button>
  ) : null;
}

function Because({ busy, close, answer }: Pick<Props, "busy" | "answer"> & { close: () => void }) {
  const [text, setText] = useState("");
  return (
    <form
      className={css.form}
      onSubmit={(event) => {
        event.preventDefault();
        void answer("deny", { decision: "deny", because: text.trim() || null });
      }}
    >
      <Field label="Why not?" hint="The agent is told, and can try another way.">
        <Input value={text} onChange={(event) => setText(event.target.value)} autoFocus maxLength={500} />
      </Field>
      <div className={css.answers}>
        <Button type="submit" look="danger" busy={busy === "deny"}>
          Deny
        </Button>
        <Button look="quiet" onClick={close}>
          Back
        </Button>
      </div>
    </form>
  );
}
