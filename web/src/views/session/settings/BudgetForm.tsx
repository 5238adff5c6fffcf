/** What the whole tree of a root may use before a person is asked, and how much of it is gone. */
import { useState } from "react";
import { setBudget } from "@/api/actions";
import { budgetQuery, client, useBudget } from "@/api/queries";
import { duration, money, tokens } from "@/lib/format";
import { Button } from "@/ui/controls/Button";
import { Field, Input } from "@/ui/controls/Field";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { bodyOf, type Limits, limitsOf, usedSince } from "./budget";
import css from "./Settings.module.css";

type Data = NonNullable<ReturnType<typeof useBudget>["data"]>;

export function BudgetForm({ sessionId }: { sessionId: string }) {
  return (
    <section className={css.part}>
      <h2 className={css.head}>Budget of the tree</h2>
      <p className={css.hint}>
        When one of these is used up, the next turn waits for your word. Empty is without limit.
      </p>
      <QueryResult query={useBudget(sessionId)}>
        {(data) => <Form sessionId={sessionId} data={data} />}
      </QueryResult>
    </section>
  );
}

function Form({ sessionId, data }: { sessionId: string; data: Data }) {
  const [typed, setTyped] = useState<Partial<Limits>>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const limits = { ...limitsOf(data.budget), ...typed };
  const read = bodyOf(limits);
  const used = usedSince(data.used, data.budget);
  const save = async () => {
    if ("wrong" in read) return;
    setBusy(true);
    setError(null);
    try {
      client.setQueryData(budgetQuery(sessionId).queryKey, await setBudget(sessionId, read.body));
      setTyped({});
    } catch (refused) {
      setError(refused instanceof Error ? refused.message : String(refused));
    } finally {
      setBusy(false);
    }
  };
  const fields: { name: keyof Limits; label: string; hint: string }[] = [
    { name: "maxTurns", label: "Turns", hint: `${used.maxTurns} used` },
    { name: "maxTokens", label: "Tokens", hint: `${tokens(used.maxTokens)} used` },
    { name: "maxCost", label: "Cost in USD", hint: `${money(used.maxCost)} used` },
    { name: "maxMinutes", label: "Minutes of work", hint: `${duration(used.maxMinutes * 60)} used` },
  ];
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <div className={css.numbers}>
        {fields.map(({ name, label, hint }) => (
          <Field
            key={name}
            label={label}
            hint={hint}
            error={"wrong" in read && read.wrong === name ? "Not a number above 0." : null}
          >
            <Input
              inputMode="decimal"
              placeholder="No limit"
              value={limits[name]}
              onChange={(event) => setTyped({ ...typed, [name]: event.target.value })}
            />
          </Field>
        ))}
      </div>
      {error && (
        <p className={css.error} role="alert">
          {error}
        </p>
      )}
      {Object.keys(typed).length > 0 && (
        <div className={css.row}>
          <Button type="submit" look="primary" busy={busy} disabled={"wrong" in read}>
            Set budget
          </Button>
          <Button look="quiet" onClick={() => setTyped({})}>
            Discard
          </Button>
        </div>
      )}
    </form>
  );
}
