/** Sets the budget of a root session's tree, and shows how much of it is used. */
import { useState } from "react";
import { setBudget } from "@/api/actions";
import { budgetQuery, client, useBudget } from "@/api/queries";
import { money, tokens } from "@/lib/format";
import { Button } from "@/ui/controls/Button";
import { Field, Input } from "@/ui/controls/Field";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { type Limits, limitsOf, parseLimits, usedMinutes, usedSince } from "./budget";
import css from "./Settings.module.css";

type BudgetData = NonNullable<ReturnType<typeof useBudget>["data"]>;

export function BudgetForm({ sessionId }: { sessionId: string }) {
  return (
    <section className={css.part}>
      <h2 className={css.head}>Tree budget</h2>
      <p className={css.hint}>
        When a limit is reached, the next turn needs your approval. Blank = no limit.
      </p>
      <QueryResult query={useBudget(sessionId)}>
        {(data) => <Form sessionId={sessionId} data={data} />}
      </QueryResult>
    </section>
  );
}

function Form({ sessionId, data }: { sessionId: string; data: BudgetData }) {
  const [edits, setEdits] = useState<Partial<Limits>>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const limits = { ...limitsOf(data.budget), ...edits };
  const parsed = parseLimits(limits);
  const used = usedSince(data.used, data.budget);
  const save = async () => {
    if ("invalid" in parsed) return;
    setBusy(true);
    setError(null);
    try {
      client.setQueryData(budgetQuery(sessionId).queryKey, await setBudget(sessionId, parsed.body));
      setEdits({});
    } catch (caught) {
      setError(caught instanceof Error ? caught.message : String(caught));
    } finally {
      setBusy(false);
    }
  };
  const fields: { name: keyof Limits; label: string; hint: string }[] = [
    { name: "maxTurns", label: "Turns", hint: `${used.maxTurns} used` },
    { name: "maxTokens", label: "Tokens", hint: `${tokens(used.maxTokens)} used` },
    { name: "maxCost", label: "Cost (USD)", hint: `${money(used.maxCost)} used` },
    { name: "maxMinutes", label: "Agent minutes", hint: `${usedMinutes(used.maxMinutes)} used` },
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
            error={"invalid" in parsed && parsed.invalid === name ? "Enter a number greater than 0." : null}
          >
            <Input
              inputMode="decimal"
              placeholder="No limit"
              value={limits[name]}
              onChange={(event) => setEdits({ ...edits, [name]: event.target.value })}
            />
          </Field>
        ))}
      </div>
      {error && (
        <p className={css.error} role="alert">
          {error}
        </p>
      )}
      {Object.keys(edits).length > 0 && (
        <div className={css.row}>
          <Button type="submit" variant="primary" busy={busy} disabled={"invalid" in parsed}>
            Set budget
          </Button>
          <Button variant="quiet" onClick={() => setEdits({})}>
            Discard
          </Button>
        </div>
      )}
    </form>
  );
}
