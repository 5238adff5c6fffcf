/** Settings of the policy: rules in the order they are tried, and always-allowed actions. */
import { ArrowDown, ArrowUp, Plus, ShieldCheck, Trash2 } from "lucide-react";
import { useState } from "react";
import { patchRule, removeChoice, removeRule, runRequest } from "@/api/actions";
import { useChoices, useRules } from "@/api/queries";
import type { Rule } from "@/api/types";
import { Button, IconButton } from "@/ui/controls/Button";
import { Empty, QueryResult } from "@/ui/feedback/Placeholders";
import { Badge, type Tone } from "@/ui/labels/Badge";
import { Time } from "@/ui/labels/Time";
import { RuleDialog } from "./RuleDialog";
import css from "./Settings.module.css";

const TONES: Record<Rule["effect"], Tone> = { allow: "done", ask: "waiting", deny: "failed" };
const SCOPES = { session: "One session", worktree: "One folder", everywhere: "Everywhere" };

/** Describes what a rule applies to. */
export function describeRule(rule: Pick<Rule, "agent" | "kind" | "tool" | "command" | "path">): string {
  const parts = [
    rule.kind && `kind ${rule.kind}`,
    rule.tool && `tool ${rule.tool}`,
    rule.command && `command ${rule.command}`,
    rule.path && `files ${rule.path}`,
    rule.agent && `by ${rule.agent}`,
  ].filter(Boolean);
  return parts.join(", ") || "everything";
}

export function PolicySettings() {
  const [shown, setShown] = useState<Rule | "new" | null>(null);
  return (
    <>
      <div className={css.actions}>
        <Button variant="primary" icon={<Plus />} onClick={() => setShown("new")}>
          Add rule
        </Button>
      </div>
      <QueryResult query={useRules()}>
        {(rules) =>
          rules.length ? (
            <ol className={css.list}>
              {rules.map((rule, at) => (
                <li key={rule.id} className={css.card}>
                  <div className={css.row}>
                    <Badge tone={TONES[rule.effect]}>{rule.effect}</Badge>
                    <span className={`${css.grow} ${css.name}`}>{describeRule(rule)}</span>
                    <IconButton
                      label="Move up"
                      size="small"
                      disabled={at === 0}
                      onClick={() => void runRequest(() => patchRule(rule.id, { position: at }))}
                    >
                      <ArrowUp />
                    </IconButton>
                    <IconButton
                      label="Move down"
                      size="small"
                      disabled={at === rules.length - 1}
                      onClick={() => void runRequest(() => patchRule(rule.id, { position: at + 2 }))}
                    >
                      <ArrowDown />
                    </IconButton>
                    <Button size="small" onClick={() => setShown(rule)}>
                      Edit
                    </Button>
                    <IconButton
                      label="Remove rule"
                      size="small"
                      onClick={() => void runRequest(() => removeRule(rule.id))}
                    >
                      <Trash2 />
                    </IconButton>
                  </div>
                  {rule.note && <p className={css.soft}>{rule.note}</p>}
                </li>
              ))}
            </ol>
          ) : (
            <Empty icon={<ShieldCheck />} title="No rules yet">
              Without rules, each session's mode decides what needs approval.
            </Empty>
          )
        }
      </QueryResult>
      <h2 className={css.section}>Always-allowed actions</h2>
      <QueryResult query={useChoices()}>
        {(choices) =>
          choices.length ? (
            <ul className={css.list}>
              {choices.map((choice) => (
                <li key={choice.id} className={css.card}>
                  <div className={css.row}>
                    <span className={`${css.grow} ${css.name}`}>{choice.title}</span>
                    <Badge>{SCOPES[choice.scope]}</Badge>
                    <Button size="small" onClick={() => void runRequest(() => removeChoice(choice.id))}>
                      Remove
                    </Button>
                  </div>
                  <p className={css.soft}>
                    {choice.agent} · <Time at={choice.createdAt} />
                  </p>
                </li>
              ))}
            </ul>
          ) : (
            <p className={css.soft}>None yet.</p>
          )
        }
      </QueryResult>
      {shown && <RuleDialog rule={shown === "new" ? null : shown} onClose={() => setShown(null)} />}
    </>
  );
}
