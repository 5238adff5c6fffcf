/** What a question is about: a command as a terminal shows it, a difference of files, paths, arguments, a proposal. */

import { Link } from "wouter";
import type { Approval } from "@/api/types";
import { routes } from "@/app/routes";
import { shortId } from "@/lib/format";
import { TextDiff } from "@/ui/diff/DiffView";
import css from "./ApprovalCard.module.css";
import { inFolder, isCall, type Part, partsOf } from "./approvalDetails";
import { factsOf, proposalOf } from "./proposedCall";

interface Props {
  approval: Approval;
  cwd?: string;
  /** Without the arguments, which are in a form just now. */
  brief?: boolean;
}

export function ApprovalSubject({ approval, cwd, brief }: Props) {
  if (isCall(approval)) return <Proposed approval={approval} brief={brief} />;
  const parts = partsOf(approval);
  // A command, or a difference with the name of its file, says what the title says.
  const said = parts.some(
    (part) => part.type === "diff" || (part.type === "command" && part.text === approval.title),
  );
  return (
    <>
      {!said && <p className={css.title}>{inFolder(approval.title, cwd)}</p>}
      {parts.map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a question never changes what it is about
        <Subject key={at} part={part} cwd={cwd} />
      ))}
    </>
  );
}

function Subject({ part, cwd }: { part: Part; cwd?: string }) {
  switch (part.type) {
    case "command":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is scrolled by keys
        <pre className={css.command} tabIndex={0}>
          {part.cwd && part.cwd !== cwd && <span className={css.cwd}>{part.cwd}</span>}
          <span className={css.dollar} aria-hidden>
            ${" "}
          </span>
          {part.text}
        </pre>
      );
    case "diff":
      return (
        <div className={css.diff}>
          <TextDiff path={inFolder(part.path, cwd)} oldText={part.oldText} newText={part.newText} />
        </div>
      );
    case "text":
      return <p className={css.text}>{part.text}</p>;
    case "paths":
      return (
        <ul className={css.paths}>
          {part.paths.map((path) => (
            <li key={path}>
              <code>{inFolder(path, cwd)}</code>
            </li>
          ))}
        </ul>
      );
    case "facts":
      return (
        <dl className={css.facts}>
          {part.facts.map(({ name, value }) => (
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

function Proposed({ approval, brief }: Props) {
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
