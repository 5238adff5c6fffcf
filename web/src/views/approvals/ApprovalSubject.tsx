/** Shows what an approval is about: a command, a diff, paths, arguments, or a proposed call. */
import { Link } from "wouter";
import type { Approval } from "@/api/types";
import { routes } from "@/app/routes";
import { shortId } from "@/lib/format";
import { relativeTo } from "@/lib/paths";
import { TextDiff } from "@/ui/diff/DiffView";
import css from "./ApprovalCard.module.css";
import { type Detail, detailsOf, isBoughToolCall } from "./approvalDetails";
import { factsOf, proposalOf } from "./proposedCall";

interface Props {
  approval: Approval;
  cwd?: string;
  /** Leaves out the arguments while they are being edited. */
  brief?: boolean;
}

export function ApprovalSubject({ approval, cwd, brief }: Props) {
  if (isBoughToolCall(approval)) return <ProposedCall approval={approval} brief={brief} />;
  const details = detailsOf(approval);
  // A diff shows its file's name, and a command is often the title itself.
  const showsTitle = details.some(
    (detail) => detail.type === "diff" || (detail.type === "command" && detail.text === approval.title),
  );
  return (
    <>
      {!showsTitle && <p className={css.title}>{relativeTo(approval.title, cwd)}</p>}
      {details.map((detail, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the details of an approval never change
        <DetailView key={index} detail={detail} cwd={cwd} />
      ))}
    </>
  );
}

function DetailView({ detail, cwd }: { detail: Detail; cwd?: string }) {
  switch (detail.type) {
    case "command":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll areas must be reachable by keyboard
        <pre className={css.command} tabIndex={0}>
          {detail.cwd && detail.cwd !== cwd && <span className={css.cwd}>{detail.cwd}</span>}
          <span className={css.dollar} aria-hidden>
            ${" "}
          </span>
          {detail.text}
        </pre>
      );
    case "diff":
      return (
        <div className={css.diff}>
          <TextDiff path={relativeTo(detail.path, cwd)} oldText={detail.oldText} newText={detail.newText} />
        </div>
      );
    case "text":
      return <p className={css.text}>{detail.text}</p>;
    case "paths":
      return (
        <ul className={css.paths}>
          {detail.paths.map((path) => (
            <li key={path}>
              <code>{relativeTo(path, cwd)}</code>
            </li>
          ))}
        </ul>
      );
    case "facts":
      return (
        <dl className={css.facts}>
          {detail.facts.map(({ name, value }) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <code>{value}</code>
              </dd>
            </div>
          ))}
        </dl>
      );
  }
}

function ProposedCall({ approval, brief }: Props) {
  if (brief) return <p className={css.title}>{approval.title}</p>;
  return (
    <>
      <p className={css.title}>{approval.title}</p>
      <dl className={css.facts}>
        {factsOf(proposalOf(approval)).map(({ name, label, value, long }) => (
          <div key={name}>
            <dt>{label}</dt>
            <dd className={long ? css.quote : undefined}>
              {name === "sessionId" ? <Link href={routes.session(value)}>{shortId(value)}</Link> : value}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
