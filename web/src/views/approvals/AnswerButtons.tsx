/** The buttons that answer an approval, and the forms that some of them open. */
import { ChevronDown } from "lucide-react";
import { useState } from "react";
import type { Answer, Approval } from "@/api/types";
import { routes } from "@/app/routes";
import { Button, ButtonLink, IconButton } from "@/ui/controls/Button";
import { Field, Input } from "@/ui/controls/Field";
import { Menu, MenuItem } from "@/ui/controls/Menu";
import css from "./ApprovalCard.module.css";
import { type AnswerOptions, type ApprovalLabels, isBoughToolCall } from "./approvalDetails";
import { EditCallForm } from "./EditCallForm";
import { createsSession, editableArguments, proposalOf } from "./proposedCall";

const SCOPES = {
  session: "In this session",
  worktree: "In this folder",
  everywhere: "Everywhere",
} as const;

/** A form that replaces the buttons: a reason to deny, or the arguments to edit. */
export type AnswerForm = "reason" | "arguments";

interface Props {
  approval: Approval;
  options: AnswerOptions;
  labels: ApprovalLabels;
  /** The answer that is being sent. */
  busy: string | null;
  openForm: AnswerForm | null;
  setOpenForm: (form: AnswerForm | null) => void;
  answer: (which: string, body: Answer) => Promise<void>;
}

export function AnswerButtons({ approval, options, labels, busy, openForm, setOpenForm, answer }: Props) {
  if (openForm === "reason") return <DenyForm busy={busy} close={() => setOpenForm(null)} answer={answer} />;
  if (openForm === "arguments")
    return (
      <EditCallForm
        proposal={proposalOf(approval)}
        busy={busy !== null}
        close={() => setOpenForm(null)}
        approve={(args) => answer("allow", { decision: "allow", arguments: args })}
      />
    );
  const disabled = busy !== null;
  return (
    <div className={css.answers}>
      {options.alternatives.map(({ optionId, name }) => (
        <Button
          key={optionId}
          variant="primary"
          busy={busy === optionId}
          disabled={disabled}
          onClick={() => answer(optionId, { optionId })}
        >
          {name}
        </Button>
      ))}
      {options.alternatives.length === 0 && (
        <Button
          variant="primary"
          busy={busy === "allow"}
          disabled={disabled}
          aria-keyshortcuts="y"
          onClick={() => answer("allow", { decision: "allow" })}
        >
          {labels.allow}
        </Button>
      )}
      {isBoughToolCall(approval) && (
        <EditButton approval={approval} disabled={disabled} open={() => setOpenForm("arguments")} />
      )}
      {options.canAllowAlways && (
        <Menu
          align="start"
          trigger={
            <Button busy={busy === "always"} disabled={disabled} aria-keyshortcuts="a">
              Always <ChevronDown aria-hidden />
            </Button>
          }
        >
          {options.scopes.map((scope) => (
            <MenuItem key={scope} onSelect={() => void answer("always", { decision: "allow_always", scope })}>
              {SCOPES[scope]}
            </MenuItem>
          ))}
        </Menu>
      )}
      <span className={css.split}>
        <Button
          variant="danger"
          busy={busy === "deny"}
          disabled={disabled}
          aria-keyshortcuts="n"
          onClick={() => answer("deny", { decision: "deny" })}
        >
          {labels.deny}
        </Button>
        {options.canGiveReason && (
          <Menu
            trigger={
              <IconButton label="More ways to deny" variant="danger" disabled={disabled}>
                <ChevronDown />
              </IconButton>
            }
          >
            <MenuItem onSelect={() => setOpenForm("reason")}>Deny with a reason…</MenuItem>
          </Menu>
        )}
      </span>
    </div>
  );
}

function EditButton({
  approval,
  disabled,
  open,
}: {
  approval: Approval;
  disabled: boolean;
  open: () => void;
}) {
  const proposal = proposalOf(approval);
  if (createsSession(proposal.tool))
    return <ButtonLink href={routes.proposal(approval.id)}>Edit…</ButtonLink>;
  return editableArguments(proposal).length ? (
    <Button disabled={disabled} onClick={open}>
      Edit…
    </Button>
  ) : null;
}

function DenyForm({ busy, close, answer }: Pick<Props, "busy" | "answer"> & { close: () => void }) {
  const [reason, setReason] = useState("");
  return (
    <form
      className={css.form}
      onSubmit={(event) => {
        event.preventDefault();
        void answer("deny", { decision: "deny", because: reason.trim() || null });
      }}
    >
      <Field label="Reason" hint="The agent sees it and can try another way.">
        <Input value={reason} onChange={(event) => setReason(event.target.value)} autoFocus maxLength={500} />
      </Field>
      <div className={css.answers}>
        <Button type="submit" variant="danger" busy={busy === "deny"}>
          Deny
        </Button>
        <Button variant="quiet" onClick={close}>
          Cancel
        </Button>
      </div>
    </form>
  );
}
